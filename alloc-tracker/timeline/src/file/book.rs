//! What the resident set consists of, and figures that others than the tracker measured.
use serde::{Deserialize, Serialize};

/// The resident set at one instant, as a sum of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// When it was taken, since the session began.
    pub time_ns: u64,
    /// Live bytes at that instant. The nearer they are to the peak's, the better the book describes the peak.
    pub live_bytes: u64,
    /// The resident set that the lines explain.
    pub rss_bytes: u64,
    /// The lines; they sum to `rss_bytes` exactly, and the last is named `unexplained`.
    pub lines: Vec<BookLine>,
    /// From the resident set to what the process's control group counts and may use. Empty in files of older recorders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<BeyondLine>,
}

/// One line of a [`Book`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookLine {
    /// What the bytes are.
    pub name: String,
    /// How many they are. Negative in a line that is to be subtracted.
    pub bytes: i64,
    /// Which instrument measured them, or why it could not. Empty in files of older recorders.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// What the line consists of, such as stacks by thread or pages by library; they sum to `bytes`. Empty where a line
    /// has no parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<BookPart>,
}

/// A part of a [`BookLine`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookPart {
    /// The thread, the library, the mapping.
    pub name: String,
    /// How many of the line's bytes it has.
    pub bytes: i64,
}

/// One line of the account from the resident set to the control group's limit. A line is either a total, such as
/// `RSS`, `PSS` or `memory.current`, or a step between two totals. Each total is the one before it plus the steps
/// between them, wherever all of them are known. A total that directly follows another begins an account of its own, such
/// as that of the swap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeyondLine {
    /// What the bytes are.
    pub name: String,
    /// How many they are; `None` when they could not be read.
    pub bytes: Option<i64>,
    /// Whether the line is a total.
    pub total: bool,
    /// Which file has the number, or why there is none.
    pub source: String,
}

/// The book of an instant that the program named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkBook {
    /// The name of the [`Mark`](crate::Mark).
    pub name: String,
    /// When the mark was, since the session began. The book's own time is that of its readings, which come a little later.
    pub time_ns: u64,
    /// The book.
    pub book: Book,
}

/// A figure that the tracker did not measure itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideFigure {
    /// `rss`, `cgroup`, `gpu`, ...
    pub name: String,
    /// Its largest value. Absent when the machine has no such figure.
    pub peak_bytes: Option<u64>,
    /// Its value at the sample nearest to the peak of the live bytes.
    pub at_peak_bytes: Option<u64>,
    /// Where the figure comes from, or why there is none.
    pub source: String,
}
