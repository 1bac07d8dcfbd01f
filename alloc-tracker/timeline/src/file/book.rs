//! What the resident set consists of, and figures that others than the tracker measured.
use serde::{Deserialize, Serialize};

/// The resident set at one instant near the peak, as a sum of lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// When it was taken.
    pub time_ns: u64,
    /// Live bytes at that instant. The nearer they are to the peak's, the better the book describes the peak.
    pub live_bytes: u64,
    /// The resident set that the lines explain.
    pub rss_bytes: u64,
    /// The lines; they sum to `rss_bytes` exactly, and the last is named `unexplained`.
    pub lines: Vec<BookLine>,
}

/// One line of a [`Book`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookLine {
    /// What the bytes are.
    pub name: String,
    /// How many they are. Negative in a line that is to be subtracted.
    pub bytes: i64,
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
