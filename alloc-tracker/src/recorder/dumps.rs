//! Dumps, which are copies of the timeline so far: when the program asks for one, when the live bytes cross a
//! threshold, and when a function that is called before a peak returns `PeakAction::Dump`.
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use alloc_timeline::{Ending, Mark, Record};

use super::recording::Recording;
use super::state::with_replay;
use super::thresholds::{Due, PeakAction};
use super::{closing, counts};

/// The most dumps for all thresholds, and for all functions: live bytes that rise and fall for days must not fill the
/// disk.
const MOST_DUMPS: u32 = 16;

/// How many dumps were written for each reason.
#[derive(Debug, Default)]
pub struct Dumps(BTreeMap<&'static str, u32>);

/// What the recorder shall do about something that was due.
pub enum Answer {
    /// Write a dump for this reason, with a mark of this name.
    Dump(&'static str, String),
    /// Never call the function with this number again, because it panicked.
    Forget(usize),
}

/// Compares the live bytes with the thresholds; returns what is due.
pub fn due(recording: &mut Recording) -> Vec<Due> {
    if recording.thresholds.is_empty() {
        return Vec::new();
    }
    let now = recording.clock.now_ns();
    let time_ns = recording.clock.since_start(now);
    let extremes = with_replay(|replay| replay.take_extremes(time_ns));
    extremes.map(|extremes| recording.thresholds.look(extremes)).unwrap_or_default()
}

/// Calls the program's function, if `due` is one. No lock may be held meanwhile, because the function may add a mark or
/// a fact.
pub fn answer(due: Due) -> Option<Answer> {
    match due {
        Due::Threshold(bytes) => Some(Answer::Dump("threshold", format!("threshold {bytes}"))),
        Due::Call(number, function, approach) => match function.call(&approach) {
            Some(PeakAction::Continue) => None,
            Some(PeakAction::Dump) => Some(Answer::Dump("before-peak", "before-peak".to_owned())),
            None => Some(Answer::Forget(number)),
        },
    }
}

impl Dumps {
    /// Does what `answer` says.
    pub fn act(&mut self, answer: Answer, recording: &mut Recording) {
        let (reason, name) = match answer {
            Answer::Dump(reason, name) => (reason, name),
            Answer::Forget(number) => {
                recording.thresholds.forget(number);
                return recording.output.lose("a function to be called before a peak panicked".to_owned());
            }
        };
        if self.0.get(reason).is_some_and(|&count| count >= MOST_DUMPS) {
            return;
        }
        let now = recording.clock.now_ns();
        let snapshot = with_replay(|replay| replay.snapshot_now(now, counts::slack_bytes()));
        recording.write_new_scopes();
        let live_bytes = snapshot.as_ref().map_or(0, |snapshot| snapshot.live_bytes);
        recording.record_replayed(Record::Mark(Mark { time_ns: now, name, live_bytes, snapshot }));
        if let Some((path, Err(error))) = self.dump(reason, recording) {
            recording.output.lose(format!("{}: could not be written: {error}", path.display()));
        }
    }

    /// Writes a dump; returns its path, and whether it was written. `None` when the session is over.
    pub fn dump(&mut self, reason: &'static str, recording: &mut Recording) -> Option<(PathBuf, io::Result<()>)> {
        let number = self.0.entry(reason).or_default();
        *number += 1;
        let number = *number;
        recording.write_new_scopes();
        let now = recording.clock.now_ns();
        let (replayed, sites) = with_replay(|replay| {
            let sites = recording.stacks.are_on().then(|| replay.site_table());
            (closing::replayed(replay, now, &recording.clock), sites)
        })?;
        let mut last = Vec::new();
        recording.close(replayed, now, Ending::Dumped, |_, record| last.push(record));
        let Some(sites) = sites else { return Some(recording.output.dump(reason, number, last)) };
        // Finding names takes a while, and the process may be killed meanwhile. So the dump is written without names
        // first.
        let (path, stored) = recording.output.dump(reason, number, last.clone());
        match recording.stacks.named(|| sites, &mut recording.output) {
            Some(stacks) if stored.is_ok() => {
                last.push(stacks);
                Some(recording.output.dump(reason, number, last))
            }
            _ => Some((path, stored)),
        }
    }
}
