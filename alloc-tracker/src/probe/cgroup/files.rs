//! The files of a control group: what they are called in either version, and what their texts say.
//! (Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files"; cgroup-v1/memory.rst.)
use std::fmt;

/// A limit at which there is none. Version 2 writes `max`; version 1 the largest number of whole pages below 2^63, which
/// depends on the size of a page.
pub const NO_LIMIT: u64 = u64::MAX;
/// From here on a number in a file of version 1 means that there is no limit.
const FIRST_NO_LIMIT: u64 = 1 << 62;

/// The two kinds of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy for each controller.
    One,
    /// One hierarchy for all.
    Two,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::One => "1",
            Version::Two => "2",
        })
    }
}

/// The names of the files that the two versions call differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// The bytes that the group uses now.
    pub usage: &'static str,
    /// The most bytes that it may use.
    pub limit: &'static str,
    /// The most bytes that it has used.
    pub peak: &'static str,
    /// How often it was at its limit.
    pub hits: &'static str,
}

impl Version {
    /// What this version calls its files.
    pub fn names(self) -> Names {
        match self {
            Version::One => Names {
                usage: "memory.usage_in_bytes",
                limit: "memory.limit_in_bytes",
                peak: "memory.max_usage_in_bytes",
                hits: "memory.failcnt",
            },
            Version::Two => {
                Names { usage: "memory.current", limit: "memory.max", peak: "memory.peak", hits: "memory.events" }
            }
        }
    }

    /// How often the group was at its limit, by the file [`Names::hits`].
    pub fn hits(self, text: &str) -> Option<u64> {
        match self {
            Version::One => number(text),
            Version::Two => field(text, "max"),
        }
    }
}

/// The text of a file with one number.
pub fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// The text of a file with a limit in bytes; [`NO_LIMIT`] where there is none.
pub fn limit(text: &str) -> Option<u64> {
    match text.trim() {
        "max" => Some(NO_LIMIT),
        text => number(text).map(|bytes| if bytes >= FIRST_NO_LIMIT { NO_LIMIT } else { bytes }),
    }
}

/// The number of the line that begins with `name`.
pub fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(key, _)| *key == name).and_then(|(_, value)| number(value))
}

/// For how many nanoseconds at least one process of the group has waited for memory, by its memory.pressure
/// (Documentation/accounting/psi.rst); the file counts microseconds.
pub fn stalled_ns(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split(' ').find_map(|field| field.strip_prefix("total="))?;
    number(total).map(|microseconds| microseconds.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_say_that_there_is_no_limit() {
        assert_eq!(limit("max\n"), Some(NO_LIMIT));
        assert_eq!(limit(include_str!("../../../../fixtures/cgroup/v1/memory.limit_in_bytes")), Some(NO_LIMIT));
        // Pages of 64 KiB.
        assert_eq!(limit("9223372036854710272\n"), Some(NO_LIMIT));
        assert_eq!(limit(include_str!("../../../../fixtures/cgroup/v1-limited/memory.limit_in_bytes")), Some(64 << 20));
        assert_eq!(limit("0\n"), Some(0));
        assert_eq!([limit(""), limit("-1"), limit("lots")], [None; 3]);
    }

    #[test]
    fn how_often_the_limit_was_reached() {
        assert_eq!(Version::One.hits(include_str!("../../../../fixtures/cgroup/v1-limited/memory.failcnt")), Some(114));
        assert_eq!(Version::Two.hits(include_str!("../../../../fixtures/cgroup/v2/memory.events")), Some(212));
        assert_eq!(Version::Two.hits("low 0\nhigh 0\n"), None);
    }

    #[test]
    fn the_time_of_waiting() {
        // 48,211 microseconds.
        assert_eq!(stalled_ns(include_str!("../../../../fixtures/cgroup/v2/memory.pressure")), Some(48_211_000));
        assert_eq!(stalled_ns("full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"), None);
    }
}
