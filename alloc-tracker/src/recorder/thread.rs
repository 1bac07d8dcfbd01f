//! The recorder's thread, which does one tick after the other until the session ends.
use std::io;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use alloc_replay::{Replay, ScopeId};
use alloc_timeline::{Ending, Record};

use super::control::{Asked, Control};
use super::dumps::{self, Dumps};
use super::interval::Interval;
use super::output::{Finished, Output};
use super::recording::Recording;
use super::request::{self, Request};
use super::spare::Spare;
use super::state::{drain, with_replay, with_state};
use super::step_clock::StepClock;
use super::thresholds::Thresholds;
use crate::errands::Errands;
use crate::ledger::{as_tracker_thread, publish, publish_own, totals};
use crate::probe::beyond::{BeyondReadings, NEIGHBOURS};
use crate::probe::spent::{Probe, Stopwatch};
use crate::probe::survey::Survey;
use crate::probe::{Driver, Probes};
use crate::scope::Interned;
use crate::settings::device_allocator;
use crate::settings::times::Times;
use crate::sys::{self, ThreadCount, last_thread};

/// A recording with the threads that run it. What works with files is done by those that have descriptors of their own, so any
/// of the program's threads may call what is here.
#[derive(Debug)]
pub struct Recorder {
    handle: Handle,
    thread: sys::Thread,
    /// There when the session was asked for times. Apart from the thread's work, so that a step never waits for a tick.
    steps: Option<Arc<Mutex<StepClock>>>,
}

/// A recorder, for what takes long: dumps, and marks with their books. Whoever has one needs no lock meanwhile.
#[derive(Clone, Debug)]
pub struct Handle {
    shared: Arc<Shared>,
    files: Arc<Errands>,
}

/// What is to be recorded, and where.
#[derive(Debug)]
pub struct Plan {
    /// Where it goes.
    pub output: Output,
    /// Where others ask. It is opened before the output, so that no process leaves a log of which it has not told.
    pub control: Option<Control>,
    /// The first records of the timeline.
    pub first: Vec<Record>,
    /// The time between two ticks.
    pub interval: Interval,
    /// When dumps are written.
    pub thresholds: Thresholds,
    /// What is measured by scope.
    pub times: Times,
}

/// The state that the thread and the [`Recorder`] share.
#[derive(Debug)]
struct Shared {
    /// Set when the recording is to end. Setting it does not wait for the end of a tick.
    stop: sys::StopFlag,
    interval: Interval,
    /// `None` once the recording is over.
    work: Mutex<Option<(Recording, Dumps)>>,
    /// Facts that are not recorded yet. Apart from the work, so that who adds one never waits for a tick or a dump.
    facts: Mutex<Vec<Record>>,
    /// The thread that has the program's descriptors.
    calls: Arc<Errands>,
}

impl Shared {
    /// The work, with all facts so far recorded.
    fn work(&self) -> MutexGuard<'_, Option<(Recording, Dumps)>> {
        let mut work = self.work.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((recording, _)) = work.as_mut() {
            let facts = mem::take(&mut *self.facts());
            facts.into_iter().for_each(|fact| recording.output.record(fact));
        }
        work
    }

    fn facts(&self) -> MutexGuard<'_, Vec<Record>> {
        self.facts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Recorder {
    /// Begins to record by the plan that `plan` makes, on a thread with descriptors of its own.
    ///
    /// # Errors
    /// The plan's; what `no_thread` makes of the system's when it has no thread left.
    pub fn start<E: Send + 'static>(
        plan: impl FnOnce() -> Result<Plan, E> + Send + 'static,
        no_thread: fn(io::Error) -> E,
    ) -> Result<Self, E> {
        // By this thread, which may have the loader's lock: a session may start while a library is being loaded.
        let driver = Driver::load();
        let calls = Errands::with_same_descriptors(c"alloc-calls").map(Arc::new).map_err(no_thread)?;
        let files = Errands::with_own_descriptors(c"alloc-files").map_err(no_thread)?;
        let begun = files.run(move || begin(plan()?, driver, calls).map_err(no_thread));
        let (shared, thread, steps) = begun.unwrap_or_else(|| Err(no_thread(io::Error::other("it panicked"))))?;
        Ok(Recorder { handle: Handle { shared, files: Arc::new(files) }, thread, steps })
    }

    /// For a dump, or a mark with its book.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Adds a fact about the run.
    pub fn fact(&self, key: &str, value: serde_json::Value) {
        self.handle.shared.facts().push(Record::Run(key.to_owned(), value));
    }

    /// A step begins or ends on this thread: `tell` says which.
    pub fn time_step(&self, tell: fn(&mut StepClock)) {
        if let Some(steps) = &self.steps {
            tell(&mut steps.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        }
    }

    /// Stops the thread, records what is left and writes the timeline. `None` when the recording was over already.
    pub fn stop(self, ending: Ending) -> Option<Finished> {
        let Recorder { handle: Handle { shared, files }, thread, .. } = self;
        publish::end();
        shared.calls.session_ends();
        shared.stop.set();
        let end = move || {
            // A panic in the recorder's thread costs samples. It must not end the program.
            thread.join();
            let work = shared.work().take();
            work.map(|(recording, _)| recording.end(ending).finish())
        };
        let finished = files.run(end).flatten();
        request::thread_is_over();
        finished
    }
}

impl Handle {
    /// To be called when the process ends while a session ends: see [`Errands::session_ends`].
    pub fn session_ends(&self) {
        self.shared.calls.session_ends();
    }

    /// Adds a mark with the book of this instant. What a book takes while it is read is not of the program's arenas, because
    /// another thread reads it.
    pub fn mark_with_book(&self, name: &str) {
        let (shared, name) = (Arc::clone(&self.shared), name.to_owned());
        let _ = self.files.run(move || mark_with_book(&shared, &name));
    }

    /// Writes a dump beside the timeline; returns its path, and whether it was written. `None` when the session is
    /// over.
    pub fn dump(&self) -> Option<(PathBuf, io::Result<()>)> {
        let shared = Arc::clone(&self.shared);
        let dump = move || {
            let mut work = shared.work();
            let (recording, dumps) = work.as_mut()?;
            dumps.dump("dump", None, true, recording)
        };
        self.files.run(dump)?
    }
}

/// What a recording has that began: with its thread, and the clock of its steps.
type Begun = (Arc<Shared>, sys::Thread, Option<Arc<Mutex<StepClock>>>);

fn begin(plan: Plan, driver: Driver, calls: Arc<Errands>) -> io::Result<Begun> {
    let Plan { output, control, first, interval, thresholds, times } = plan;
    let probes = Probes::open(driver, Arc::clone(&calls))?;
    let mut recording = Recording::begin(output, first, thresholds, times, probes)?;
    let steps = recording.step_clock();
    let start_ns = recording.clock.start_ns();
    // The order matters. First the replay is ready, then threads publish to it, and then it gets the counts from
    // before, so that nothing is missed and nothing counts twice.
    let mut replay = Replay::new(start_ns, Interned);
    if let Some((name, text)) = device_allocator()
        && let Err(problem) = replay.model_device(&text)
    {
        recording.output.lose(format!("{name}: {problem}"));
    }
    with_state(|state| *state = Some(replay));
    // The plan had blocks of the program's. That this thread has freed them goes to the totals before those are read.
    publish_own();
    publish::begin(drain);
    let before = |scope: ScopeId| totals::of(scope).read();
    with_replay(|replay| replay.reconcile_at_start(before, start_ns));
    // From here on, a process that is killed leaves a log with its first records.
    recording.tick();
    let work = Mutex::new(Some((recording, Dumps::default())));
    let shared = Arc::new(Shared { stop: sys::StopFlag::default(), interval, work, facts: Mutex::default(), calls });
    let worker = Arc::clone(&shared);
    request::thread_begins();
    // Before the program goes on: it may take all memory, or go to another root, before the thread runs.
    let mut spare = Spare::default();
    spare.look();
    let threads = ThreadCount::open();
    match sys::Thread::spawn(c"alloc-recorder", move || run(&worker, control.as_ref(), spare, &threads)) {
        Ok(thread) => Ok((shared, thread, steps)),
        Err(error) => {
            request::thread_is_over();
            publish::end();
            with_state(|replay| *replay = None);
            Err(error)
        }
    }
}

fn mark_with_book(shared: &Shared, name: &str) {
    // These readings take long, so the recorder's ticks do not wait for them.
    let mut watch = Stopwatch::start();
    let (survey, beyond) = (Survey::take(), BeyondReadings::take(NEIGHBOURS));
    watch.lap(Probe::Asked);
    if let Some((recording, _)) = shared.work().as_mut() {
        recording.mark_with_book(name, &survey, &beyond);
    }
}

fn run(shared: &Shared, control: Option<&Control>, spare: Spare, threads: &ThreadCount) {
    as_tracker_thread(|| {
        let panicked =
            panic::catch_unwind(AssertUnwindSafe(|| tick_to_the_end(shared, control, spare, threads))).is_err();
        // This thread has no stderr on which it could have been said.
        if panicked && let Some((recording, _)) = shared.work().as_mut() {
            recording.output.lose("the recorder's thread panicked, and took no samples from then on".to_owned());
        }
    });
}

fn tick_to_the_end(shared: &Shared, control: Option<&Control>, mut spare: Spare, threads: &ThreadCount) {
    loop {
        let began = sys::now_ns();
        spare.look();
        let mut interval = shared.interval.least();
        if let Some((recording, _)) = shared.work().as_mut() {
            recording.tick();
            interval = recording.interval(shared.interval);
        }
        dump_what_is_due(shared);
        if last_thread::program_has_none(threads) {
            end_in_its_place(shared);
        }
        if let Some((control, asked)) = control.and_then(|control| Some((control, control.look()?)))
            && obey(shared, control, asked)
        {
            return;
        }
        let spent = Duration::from_nanos(sys::now_ns().saturating_sub(began));
        // The pause after a long tick is as long as the tick, up to one interval, so that the recorder leaves time
        // to others.
        if wait(shared, interval.saturating_sub(spent).max(spent.min(interval))) {
            if let Some(request) = request::asked() {
                // Nobody is there to be told of an error: where the timeline could not be written, the log is.
                let _ = end_here(shared, request);
            }
            return;
        }
    }
}

/// Ends the process as the C library does when a program's last thread has ended. The handlers run on the thread that calls the
/// program's functions, and end the session.
fn end_in_its_place(shared: &Shared) {
    // SAFETY: no thread of the program's is left, so nobody else ends the process; what handlers do is the program's matter.
    let _ = shared.calls.run(|| unsafe { libc::exit(0) });
}

/// Does what was asked through the control folder, and answers. Returns whether the recording is over.
fn obey(shared: &Shared, control: &Control, asked: Asked) -> bool {
    let gone = || io::Error::other("the recording is over");
    let result = match asked {
        Asked::Dump => {
            let mut work = shared.work();
            let written = work.as_mut().and_then(|(recording, dumps)| dumps.dump("dump", None, true, recording));
            written.ok_or_else(gone).and_then(|(path, stored)| stored.map(|()| path.display().to_string()))
        }
        Asked::Mark(name) => {
            shared.work().as_mut().ok_or_else(gone).map(|(recording, _)| dumps::mark_now(name, recording))
        }
        Asked::Stop => {
            let ended = end_here(shared, Request::Stop);
            control.answer(&ended);
            return true;
        }
    };
    control.answer(&result);
    false
}

/// Ends the recording on the recorder's own thread, which has nothing to do afterwards; returns where the timeline is.
fn end_here(shared: &Shared, request: Request) -> io::Result<String> {
    publish::end();
    let work = shared.work().take();
    let ended = match work {
        None => Err(io::Error::other("the recording is over")),
        Some((recording, _)) => {
            let output = recording.end(request.ending().unwrap_or(Ending::Exit));
            if request == Request::Discard {
                output.discard();
                Ok(String::new())
            } else {
                let finished = output.finish();
                finished.stored.map(|()| finished.path.display().to_string())
            }
        }
    };
    request::thread_is_over();
    ended
}

/// Sleeps until the next tick, and wakes up for looks in between. Returns true when the recording is to end.
fn wait(shared: &Shared, pause: Duration) -> bool {
    let end = sys::now_ns().saturating_add(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX));
    loop {
        let left = end.saturating_sub(sys::now_ns());
        let most = shared.work().as_ref().map_or(pause, |(recording, _)| recording.sleep());
        if shared.stop.sleep(Duration::from_nanos(left).min(most)) || request::asked().is_some() {
            return true;
        }
        if sys::now_ns() >= end {
            return false;
        }
        if let Some((recording, _)) = shared.work().as_mut() {
            recording.look();
        }
        dump_what_is_due(shared);
    }
}

/// Calls the program's functions that are due, and writes the dumps that are due.
fn dump_what_is_due(shared: &Shared) {
    let due = shared.work().as_mut().map(|(recording, _)| dumps::due(recording)).unwrap_or_default();
    for answer in due.into_iter().filter_map(|due| dumps::answer(due, &shared.calls)) {
        if let Some((recording, dumps)) = shared.work().as_mut() {
            dumps.act(answer, recording);
        }
    }
}
