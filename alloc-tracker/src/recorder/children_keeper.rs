//! The child processes: when they are looked at, which the background thread does, and which reading of their shares is kept: that at
//! which they and this process took most.
use alloc_timeline::{ChildProcesses, Record};

use super::background::{Background, Job};
use super::clock::SessionClock;
use crate::probe::Readings;
use crate::probe::child_looks::{Found, Looks};
use crate::probe::children;

/// From one look to the next ...
const LOOK_NS: u64 = 1_000_000_000;
/// ... or, where looks take long, as there are many processes and threads, so many times as long as the one before took.
const PAUSE: u64 = 1_000;

/// When to look, and what was found.
#[derive(Debug)]
pub struct ChildrenKeeper {
    /// When the next look is due, by the clock.
    next_ns: u64,
    /// For the next look; `None` while one is under way, and when looks find nothing here.
    looks: Option<Looks>,
    /// Whether a look has found any. A program that starts no processes has no columns of them.
    has_found: bool,
    /// Columns that no sample has yet.
    columns: Readings,
    /// What was taken at the reading of shares at which most was: with this process where that is known, and the resident sets.
    most: Option<(Option<u64>, u64)>,
}

impl ChildrenKeeper {
    /// The first look is due at once.
    pub fn new() -> Self {
        ChildrenKeeper { next_ns: 0, looks: Some(Looks::default()), has_found: false, columns: Vec::new(), most: None }
    }

    /// The columns that are new. Asks for the next look when it is due at the clock's time `now_ns`.
    pub fn tick(&mut self, now_ns: u64, background: &Background) -> Readings {
        if now_ns >= self.next_ns
            && let Some(looks) = self.looks.take()
        {
            background.ask(Job::Children(looks));
        }
        std::mem::take(&mut self.columns)
    }

    /// Takes over what a look has found. Returns the reading of shares when more was taken than ever before.
    ///
    /// # Errors
    /// Why child processes cannot be found. There are no more looks then.
    pub fn found(&mut self, found: Found, clock: &mut SessionClock) -> Result<Option<Record>, String> {
        let Found { look, look_took_ns, shares, shares_are_of_these, looks } = found;
        let look = look?;
        self.looks = Some(looks);
        self.next_ns = clock.now_ns().saturating_add(look_took_ns.saturating_mul(PAUSE).max(LOOK_NS));
        self.has_found |= !look.is_empty();
        if self.has_found {
            self.columns = look.columns();
        }
        match &shares {
            Some(shares) => self.columns.extend(children::columns(shares)),
            None if self.has_found && look.is_empty() => self.columns.push(("children_pss".into(), Some(0))),
            // Other processes than those of which shares are known.
            None if self.has_found && !shares_are_of_these => self.columns.push(("children_pss".into(), None)),
            None => {}
        }
        let Some(shares) = shares else { return Ok(None) };
        let taken = Some((shares.pss_with_own(), shares.rss_bytes));
        if taken <= self.most {
            return Ok(None);
        }
        self.most = taken;
        let time_ns = clock.since_start(shares.time_ns);
        Ok(Some(Record::ChildProcesses(ChildProcesses { time_ns, ..shares })))
    }
}
