//! What the processes that this one has started have of memory, with this one's part.
use serde::{Deserialize, Serialize};

/// The child processes at one instant, with those that they have started themselves. Each number is a sum over them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildProcesses {
    /// When, since the session began.
    pub time_ns: u64,
    /// How many they were.
    pub processes: u32,
    /// Their resident sets. A page that several of them map counts once for each.
    pub rss_bytes: u64,
    /// Their shares of pages (PSS): a page that n processes map counts as one nth in each of them. Null where none of them could be read.
    pub pss_bytes: Option<u64>,
    /// Pages that one process alone maps. Null where none of them could be read.
    pub private_bytes: Option<u64>,
    /// This process's own resident set at that instant; null where it could not be read.
    pub own_rss_bytes: Option<u64>,
    /// This process's own share of pages (PSS); null where it could not be read.
    pub own_pss_bytes: Option<u64>,
    /// How many of `processes` are not in `pss_bytes` and `private_bytes`, because they could not be read.
    pub unread: u32,
    /// Why not, for the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// How many such readings there were so far.
    pub readings: u32,
}

impl ChildProcesses {
    /// The PSS of this process and of those of its child processes that could be read; `None` where one of the two is not known.
    ///
    /// ```
    /// use alloc_timeline::ChildProcesses;
    ///
    /// let read = ChildProcesses { pss_bytes: Some(300), own_pss_bytes: Some(50), ..ChildProcesses::default() };
    /// assert_eq!(read.pss_with_own(), Some(350));
    /// assert_eq!(ChildProcesses { own_pss_bytes: None, ..read }.pss_with_own(), None);
    /// ```
    pub fn pss_with_own(&self) -> Option<u64> {
        Some(self.pss_bytes?.saturating_add(self.own_pss_bytes?))
    }
}
