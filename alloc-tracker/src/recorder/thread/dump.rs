//! What the recorder's thread does at a height of the live bytes that somebody waits for: it calls the program's
//! functions, and writes copies of the timeline so far.
use std::path::PathBuf;

use alloc_timeline::{Ending, Mark, Record};

use super::{Desk, Shared, desk_of};
use crate::recorder::watch::{Due, Then};
use crate::recorder::{extract, state};
use crate::sys;

/// The most dumps of one kind: a program that goes up and down for days should not fill the disk.
const MOST_DUMPS: u32 = 16;

/// Does what is due at this height of the live bytes. The program's functions run while the desk is free: they may mark
/// an instant or state a fact.
pub(super) fn watch(shared: &Shared) {
    let due = desk_of(shared).as_mut().map(Desk::due).unwrap_or_default();
    for due in due {
        let then = match due {
            Due::Threshold(bytes) => Ok(("threshold", Some(bytes))),
            Due::Call(number, function, approach) => match function.call(&approach) {
                Some(Then::Continue) => continue,
                Some(Then::Dump) => Ok(("before-peak", None)),
                None => Err(number),
            },
        };
        if let Some(desk) = desk_of(shared).as_mut() {
            desk.answer(then);
        }
    }
}

impl Desk {
    /// What is due at the present height of the live bytes.
    fn due(&mut self) -> Vec<Due> {
        if self.watch.is_empty() {
            return Vec::new();
        }
        let time_ns = self.since_start(sys::now_ns());
        let seen = state::work(|state| state.as_mut().map(|replay| replay.seen(time_ns)));
        seen.map(|seen| self.watch.look(seen)).unwrap_or_default()
    }

    /// Dumps for a reason, with a table of owners at a mark of that name in the timeline; or gives up a function that
    /// panicked.
    fn answer(&mut self, then: Result<(&'static str, Option<u64>), usize>) {
        let (word, threshold) = match then {
            Ok(reason) => reason,
            Err(number) => {
                self.watch.forget(number);
                return self.output.losses.push("a function to be called before a peak panicked".to_owned());
            }
        };
        if self.dumps.get(word).is_some_and(|&count| count >= MOST_DUMPS) {
            return;
        }
        let now = sys::now_ns();
        let snapshot = state::work(|state| state.as_ref().map(|replay| replay.snapshot_now(now)));
        self.new_scopes();
        let name = threshold.map_or_else(|| word.to_owned(), |bytes| format!("{word} {bytes}"));
        let live_bytes = snapshot.as_ref().map_or(0, |snapshot| snapshot.live_bytes);
        self.shifted(Record::Mark(Mark { time_ns: now, name, live_bytes, snapshot }));
        if let Some((path, Err(error))) = self.dump(word) {
            self.output.losses.push(format!("{}: could not be written: {error}", path.display()));
        }
    }

    /// Writes the timeline so far.
    pub(super) fn dump(&mut self, word: &'static str) -> Option<(PathBuf, std::io::Result<()>)> {
        let number = self.dumps.entry(word).or_default();
        *number += 1;
        let number = *number;
        self.new_scopes();
        let now = sys::now_ns();
        let (mut last, sites) = state::work(|state| {
            let replay = state.as_ref()?;
            let counts = extract::counts_by_scope();
            let sites = self.modules.is_some().then(|| replay.sites());
            let records = vec![
                Record::Peak(replay.snapshot_peak()),
                Record::AtExit(replay.snapshot_now(now)),
                Record::HighWaters(replay.high_waters()),
                Record::Totals(extract::totals(&counts)),
                Record::Analysis(Box::new(replay.analysis(now, &counts))),
            ];
            Some((records, sites))
        })?;
        last.push(Record::Lanes(self.probes.lanes(self.rss.last().map(|&(_, bytes)| bytes))));
        last.push(Record::Tracker(self.cost()));
        let mut last: Vec<Record> = last.into_iter().map(|record| self.since_began(record)).collect();
        last.push(Record::End { time_ns: self.since_start(now), ending: Ending::Dumped });
        let Some(sites) = sites else { return Some(self.output.dump(word, number, last)) };
        // To find names takes a while, in which the process may be killed: first a copy without them.
        let (path, stored) = self.output.dump(word, number, last.clone());
        match self.named(sites) {
            Some(stacks) if stored.is_ok() => {
                last.push(stacks);
                Some(self.output.dump(word, number, last))
            }
            _ => Some((path, stored)),
        }
    }
}
