//! Looks at the child processes, one after the other: what each has to know of those before, so that pages are walked when shares may
//! have changed and there is time for it.
use alloc_timeline::ChildProcesses;

use super::children::{Due, Look};
use super::spent::{Probe, Stopwatch};

/// A reading of shares may take one part in this of the time since the one before, where shares may have changed ...
const CHANGED_PART: u64 = 100;
/// ... where nothing says so, but this process may have written to pages that it shared ...
const OLD_PART: u64 = 1_000;
/// ... and where resident sets or faults have doubled, which cannot go on for long.
const DOUBLED_PART: u64 = 8;

/// What is known of the looks so far.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    /// The processes as they were when their shares were read last.
    walked: Option<Look>,
    walked_ns: u64,
    /// This process's own resident set then, in bytes: its pages are walked as well.
    own_rss: u64,
    /// What that reading took, in nanoseconds of processor time.
    took_ns: u64,
    readings: u32,
}

/// What a look has found.
#[derive(Debug)]
pub struct Found {
    /// The processes, or why they cannot be found.
    pub look: Result<Look, String>,
    /// What finding them took, in nanoseconds of processor time.
    pub look_took_ns: u64,
    /// Their shares, if they were read. The time in it is the clock's.
    pub shares: Option<ChildProcesses>,
    /// Whether the latest shares are those of these processes.
    pub shares_are_of_these: bool,
    /// For the next look.
    pub looks: Looks,
}

impl Looks {
    /// Looks at the clock's time `now_ns`.
    pub fn look(mut self, now_ns: u64) -> Found {
        let mut watch = Stopwatch::start();
        let look = Look::take();
        let look_took_ns = watch.lap(Probe::Children);
        let shares = look.as_ref().ok().filter(|look| self.is_due(look, now_ns)).map(|look| {
            let shares = look.shares(now_ns);
            let took_ns = watch.lap(Probe::Children);
            let own_rss = shares.own_rss_bytes.unwrap_or(0);
            let (walked, readings) = (Some(look.clone()), self.readings + 1);
            self = Looks { walked, walked_ns: now_ns, own_rss, took_ns, readings };
            ChildProcesses { readings: self.readings, ..shares }
        });
        let is_same = |look: &Look| self.walked.as_ref().is_some_and(|walked| walked.has_same_processes(look));
        let shares_are_of_these = look.as_ref().is_ok_and(is_same);
        Found { look, look_took_ns, shares, shares_are_of_these, looks: self }
    }

    /// Whether the shares are to be read at the clock's time `now_ns`.
    fn is_due(&self, look: &Look, now_ns: u64) -> bool {
        // A page takes as long as it took before.
        let pages_of = |look: &Look| u128::from(look.rss() + self.own_rss);
        let before = self.walked.as_ref().map_or(1, pages_of).max(1);
        let takes_ns = (u128::from(self.took_ns) * pages_of(look) / before) as u64;
        let part = match look.due(self.walked.as_ref()) {
            Due::Never => return false,
            Due::WhenOld => OLD_PART,
            Due::WhenChanged => CHANGED_PART,
            Due::Soon => DOUBLED_PART,
        };
        takes_ns <= now_ns.saturating_sub(self.walked_ns) / part
    }
}
