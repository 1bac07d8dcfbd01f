//! What pip says when it cannot fetch a package.

use std::fmt;

/// What the machine or its package index lacks, so that pip fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The index cannot be reached.
    Network,
    /// The disk is full.
    Room,
    /// The index has no build of a package for this Python and this machine.
    Build,
}

/// Its words for each, in the order in which they are looked for: without a network pip says also that it knows no versions.
const SIGNS: [(&str, Lack); 9] = [
    ("No space left", Lack::Room),
    ("NewConnectionError", Lack::Network),
    ("Max retries exceeded", Lack::Network),
    ("name resolution", Lack::Network),
    ("Network is unreachable", Lack::Network),
    ("timed out", Lack::Network),
    ("from versions: none", Lack::Network),
    ("ConnectionResetError", Lack::Network),
    ("Could not find a version that satisfies", Lack::Build),
];

/// The reason that pip's output gives; `None` when the machine lacks nothing that is known here.
pub fn lack(output: &str) -> Option<Lack> {
    SIGNS.into_iter().find(|(words, _)| output.contains(words)).map(|(_, lack)| lack)
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lack::Network => "no network, or the package index cannot be reached",
            Lack::Room => "the disk is full",
            Lack::Build => "the package index has no build for this Python and machine",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_network_is_told_from_a_package_that_is_not_there() {
        let retried = "WARNING: Retrying: NewConnectionError\nERROR: Could not find a version that satisfies the requirement a==1";
        assert_eq!(lack(&format!("{retried} (from versions: none)")), Some(Lack::Network));
        let old = "ERROR: Could not find a version that satisfies the requirement a==9 (from versions: 1.0, 2.0)";
        assert_eq!(lack(old), Some(Lack::Build));
        assert_eq!(lack("OSError: [Errno 28] No space left on device"), Some(Lack::Room));
        assert_eq!(lack("ERROR: odd"), None);
    }
}
