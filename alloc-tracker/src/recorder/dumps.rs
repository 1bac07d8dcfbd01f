//! Dumps, which are copies of the timeline so far: when the program asks for one, when the live bytes cross a
//! threshold, when the process comes near what it may have, and when a function that is called before a peak returns `PeakAction::Dump`.
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use alloc_timeline::{Dimension, Ending, Mark, MarkBook, NearLimit, Record, Scope, Snapshot};

use super::recording::Recording;
use super::state::with_replay;
use super::thresholds::{Due, PeakAction};
use super::{book_keeper, closing, counts, holders};
use crate::errands::Errands;
use crate::probe::limits::Room;
use crate::probe::spent::{Probe, Stopwatch};
use crate::probe::survey::Survey;
use crate::{scope, sys};

/// The most dumps for all thresholds, and for all functions: live bytes that rise and fall for days must not fill the
/// disk.
const MOST_DUMPS: u32 = 16;
/// The word in the name of a dump that is written near a limit.
const NEAR_LIMIT: &str = "near-limit";

/// How many dumps were written for each reason.
#[derive(Debug, Default)]
pub struct Dumps(BTreeMap<&'static str, u32>);

/// What the recorder shall do about something that was due.
pub enum Answer {
    /// Write a dump for this reason, with a mark of this name.
    Dump(&'static str, String),
    /// Say that this limit has come near, and write a dump.
    NearLimit(Room),
    /// Never call the function with this number again, because it panicked.
    Forget(usize),
}

/// Compares the live bytes with the thresholds, and the limits with what is used; returns what is due.
pub fn due(recording: &mut Recording) -> Vec<Due> {
    let now = recording.clock.now_ns();
    let mut due = Vec::from_iter(recording.near_limits.look(now).map(Due::NearLimit));
    if !recording.thresholds.is_empty() {
        let time_ns = recording.clock.since_start(now);
        let extremes = with_replay(|replay| replay.take_extremes(time_ns));
        due.extend(extremes.into_iter().flat_map(|extremes| recording.thresholds.look(extremes)));
    }
    due
}

/// Has `calls` call the program's function, if `due` is one. No lock may be held meanwhile, because the function may ask for a dump
/// or add a mark.
pub fn answer(due: Due, calls: &Errands) -> Option<Answer> {
    match due {
        Due::NearLimit(room) => Some(Answer::NearLimit(room)),
        Due::Threshold(bytes) => Some(Answer::Dump("threshold", format!("threshold {bytes}"))),
        Due::Call(number, function, approach) => match calls.call(move || function.call(&approach))? {
            Some(PeakAction::Continue) => None,
            Some(PeakAction::Dump) => Some(Answer::Dump("before-peak", "before-peak".to_owned())),
            None => Some(Answer::Forget(number)),
        },
    }
}

impl Dumps {
    /// Does what `answer` says.
    pub fn act(&mut self, answer: Answer, recording: &mut Recording) {
        let (reason, name, near) = match answer {
            Answer::Dump(reason, name) => (reason, name, None),
            Answer::NearLimit(room) => (NEAR_LIMIT, "near limit".to_owned(), Some(room)),
            Answer::Forget(number) => {
                recording.thresholds.forget(number);
                return recording.output.lose("a function to be called before a peak panicked".to_owned());
            }
        };
        if self.0.get(reason).is_some_and(|&count| count >= MOST_DUMPS) {
            return;
        }
        let (now, snapshot) = now_with_owners(recording);
        if let Some((room, snapshot)) = near.zip(snapshot.as_ref()) {
            self.say_near_limit(room, snapshot, recording);
        }
        let live_bytes = snapshot.as_ref().map_or(0, |snapshot| snapshot.live_bytes);
        recording.record_replayed(Record::Mark(Mark { time_ns: now, name: name.clone(), live_bytes, snapshot }));
        // To read names takes memory, and what is left of such a limit is the program's.
        let with_files = !near.is_some_and(|room| room.bound.refuses_mappings());
        if let Some((path, Err(error))) = self.dump(reason, Some((name, now)), with_files, recording) {
            recording.output.lose(format!("{}: could not be written: {error}", path.display()));
        }
    }

    /// Records that a limit has come near, so that the log has it if the process is killed now, and says so on stderr
    /// unless the session is quiet.
    fn say_near_limit(&self, room: Room, now: &Snapshot, recording: &mut Recording) {
        let near = near_limit(room, now, recording);
        let number = self.0.get(NEAR_LIMIT).map_or(1, |count| count + 1);
        let dump = recording.output.dump_path(NEAR_LIMIT, number);
        let line = format!("alloc-tracker: {near}; see {}", dump.display());
        recording.output.record(Record::NearLimit(near));
        recording.output.flush();
        if !recording.thresholds.is_quiet {
            // Nobody may be listening. The timeline says it all the same.
            let _ = recording.probes.calls().run(move || sys::say(&line));
        }
    }

    /// Writes a dump, with the book of this instant; returns its path, and whether it was written. `None` when the
    /// session is over. `mark` is the name and the clock's time of the mark that the dump stands for, if there is one.
    /// `with_files`: whether the names of sampled calls are read from files.
    pub fn dump(
        &mut self,
        reason: &'static str,
        mark: Option<(String, u64)>,
        with_files: bool,
        recording: &mut Recording,
    ) -> Option<(PathBuf, io::Result<()>)> {
        let number = self.0.entry(reason).or_default();
        *number += 1;
        let number = *number;
        let now = recording.clock.now_ns();
        let (replayed, sites) = with_replay(|replay| {
            let sites = recording.stacks.are_on().then(|| replay.site_table());
            (closing::replayed(replay, now, &recording.clock), sites)
        })?;
        // After what names them: the program enters new ones meanwhile.
        recording.write_new_scopes();
        let mut watch = Stopwatch::start();
        let survey = Survey::take();
        watch.lap(Probe::Asked);
        let book = book_keeper::book_now(&survey, &mut recording.clock);
        let (name, marked_ns) = mark.unwrap_or_else(|| (reason.to_owned(), now));
        let time_ns = recording.clock.since_start(marked_ns);
        let mut last = Vec::from_iter(book.map(|book| Record::MarkBook(MarkBook { name, time_ns, book })));
        recording.close(replayed, now, Ending::Dumped, |output, record| {
            // What the recording writes down now and then anyway replaces what it wrote before, and is not kept twice.
            if matches!(
                record,
                Record::Peak(_) | Record::HighWaters(_) | Record::Totals(_) | Record::Analysis(_) | Record::Unread(_)
            ) {
                output.record(record);
                output.flush();
            } else {
                last.push(record);
            }
        });
        let Some(sites) = sites else { return Some(recording.output.dump(reason, number, last)) };
        // Finding names takes a while, and the process may be killed meanwhile. So the dump is written without names
        // first.
        let (path, stored) = recording.output.dump(reason, number, last.clone());
        match recording.stacks.named(|| sites, with_files, &mut recording.output) {
            Some(stacks) if stored.is_ok() => {
                last.push(stacks);
                Some(recording.output.dump(reason, number, last))
            }
            _ => Some((path, stored)),
        }
    }
}

/// The clock's time, and who owns what is live now. All scopes in it have been recorded.
fn now_with_owners(recording: &mut Recording) -> (u64, Option<Snapshot>) {
    let now = recording.clock.now_ns();
    let snapshot = with_replay(|replay| replay.snapshot_now(now, counts::slack_bytes()));
    recording.write_new_scopes();
    (now, snapshot)
}

/// Adds a mark with the table of owners; returns a sentence on it.
pub fn mark_now(name: String, recording: &mut Recording) -> String {
    let (now, snapshot) = now_with_owners(recording);
    let live_bytes = snapshot.as_ref().map_or(0, |snapshot| snapshot.live_bytes);
    let told = format!("'{name}' at {live_bytes} live bytes");
    recording.record_replayed(Record::Mark(Mark { time_ns: now, name, live_bytes, snapshot }));
    told
}

/// The record of a limit that has come near. `now` is what is live, with the clock's time.
fn near_limit(room: Room, now: &Snapshot, recording: &mut Recording) -> NearLimit {
    let scopes: Vec<Scope> = (0..scope::count()).map(|scope| scope::describe(scope as alloc_replay::ScopeId)).collect();
    let growth = with_replay(|replay| replay.analysis(now.time_ns, &counts::by_scope()).growth).unwrap_or_default();
    let most = |dimension| holders::most(now, &scopes, dimension);
    let limits = recording.near_limits.limits();
    let (limit_hits, stalled_ns) = limits.trouble(room.bound);
    NearLimit {
        time_ns: recording.clock.since_start(now.time_ns),
        limit: limits.name(room.bound),
        limit_bytes: room.limit_bytes,
        room_bytes: room.left_bytes,
        live_bytes: now.live_bytes,
        phase: most(Dimension::Phase),
        layer: most(Dimension::Layer),
        op: most(Dimension::Op),
        growing: holders::growing(now, recording.near_limits.far(), &growth, &scopes),
        limit_hits,
        stalled_ns,
    }
}
