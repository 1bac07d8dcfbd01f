//! SIGKILL at any moment, by anybody: the log makes a timeline whose last sample is at most 100 ms old.
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use alloc_timeline::{Ending, Timeline};
use tests::{folder, text, viewer};

use crate::counts::sums_hold;
use crate::run::{LIMIT, MODES, run_as};

#[path = "../../victims/huge_pages.rs"]
mod huge_pages;

/// What `viewer recover` makes of a log: a whole timeline whose sums hold, and whose peak no sample exceeds.
pub fn recovered(log: &Path) -> Timeline {
    let out = log.with_extension("recovered.json");
    let ran = viewer(&["recover", text(log), "-o", text(&out)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timeline = alloc_timeline::load(&out).expect("a whole timeline");
    assert_eq!(timeline.ending, Ending::Recovered);
    sums_hold(&timeline);
    let highest = timeline.series.live_bytes.iter().max().copied().expect("a sample");
    assert!(timeline.peak.live_bytes >= highest, "{} below the sample of {highest}", timeline.peak.live_bytes);
    // The resident set is that of the samples; what only an end tells is not known.
    let resident = timeline.series.probes.get("rss").and_then(|column| column.iter().flatten().max());
    let figure = timeline.lanes.iter().find(|lane| lane.name == "rss").and_then(|lane| lane.peak_bytes);
    assert_eq!((figure.as_ref(), figure.is_some()), (resident, true), "{:?}", timeline.lanes);
    assert_eq!((&timeline.at_exit, timeline.tracker.overhead_bytes), (&None, None));
    timeline
}

/// The victim and what it shares: see `victims/trap_killed.rs`.
struct Victim {
    child: Child,
    times: File,
    log: PathBuf,
}

impl Victim {
    fn start(folder: &Path, seed: u64) -> Victim {
        let (out, times) = (folder.join(format!("{seed}.timeline.json")), folder.join(format!("{seed}.times")));
        std::fs::write(&times, [0; 24]).expect("a file of three times");
        let child = Command::new(env!("CARGO_BIN_EXE_victim-trap-killed"))
            .args([&out, &times])
            .arg(seed.to_string())
            .env_remove("ALLOC_TRACKER")
            .stdout(Stdio::null())
            .spawn()
            .expect("the victim");
        let times = File::open(times).expect("the times");
        let victim = Victim { child, times, log: out.with_extension("json.log") };
        let end = Instant::now() + LIMIT;
        while victim.times()[0] == 0 {
            assert!(Instant::now() < end, "no session");
            std::thread::sleep(Duration::from_millis(1));
        }
        victim
    }

    fn times(&self) -> [u64; 3] {
        let mut bytes = [0; 24];
        self.times.read_exact_at(&mut bytes, 0).expect("three times");
        let mut words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")));
        [(); 3].map(|()| words.next().expect("three times"))
    }

    /// Kills it; how much older than its last breaths the last sample is, in nanoseconds: those of the thread that
    /// sleeps like the recorder, and those of the busy ones.
    fn kill(mut self) -> [u64; 2] {
        self.child.kill().expect("it still runs");
        self.child.wait().expect("it is dead");
        let [before, slept, busy] = self.times();
        let timeline = recovered(&self.log);
        let last = before + timeline.series.time_ns.last().expect("a sample");
        [slept, busy].map(|breath| breath.saturating_sub(last))
    }
}

/// So many kills, fewer in debug, where only what is recovered counts: there the recorder is several times as slow.
const KILLS: u64 = if cfg!(debug_assertions) { 40 } else { 200 };
/// How old the last sample may be, in nanoseconds.
const OLDEST: u64 = 100_000_000;
/// How often it is killed again at a moment at which its last sample was older: on a machine that is too busy to give the
/// recorder its time that happens now and then, but not always at the same moment.
const AGAIN: u64 = 3;

/// Kills 20 to 400 ms after the session's start, the early ones more often.
///
/// What counts as the end is the last breath of a thread that sleeps for a millisecond at a time, as the recorder does
/// for ten: a machine that gives the process no time stops both, and is not the recorder's fault. The session began
/// after the time from which its samples are counted here, so that they seem older than they are.
#[test]
fn two_hundred_times() {
    let folder = folder();
    let mut random = 7_919_u64;
    let (mut worst, mut late, mut again) = ([0; 2], Vec::new(), 0);
    for number in 1..=KILLS {
        // xorshift64: the same moments in every run.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let moment = random % 1000;
        let kill = |attempt| {
            let victim = Victim::start(folder.path(), number + attempt * KILLS);
            std::thread::sleep(Duration::from_micros(20_000 + 380 * moment * moment / 1000));
            victim.kill()
        };
        let mut gaps = kill(0);
        for attempt in 1..=AGAIN {
            if gaps[0] > OLDEST && !cfg!(debug_assertions) {
                again += 1;
                gaps = kill(attempt);
            }
        }
        worst = [0, 1].map(|which| gaps[which].max(worst[which]));
        late.extend((gaps[0] > OLDEST).then_some((number, gaps[0] / 1_000)));
    }
    let [slept, busy] = worst.map(|gap| gap / 1_000);
    println!("the oldest last sample: {slept} us before the last breath, {busy} us before that of a busy thread");
    println!("late, of {KILLS} kills: {late:?}; killed again because they were: {again}");
    assert!(
        late.is_empty() || cfg!(debug_assertions),
        "late at the same moment {} times, and the age of their last samples in us: {late:?}",
        AGAIN + 1
    );
}

/// A control group of our own, below that of this process. Gone with the value.
struct Group(PathBuf);

impl Group {
    /// `Err` says why there is none. Version 2 or 1 of the interface.
    fn new(limit: u64) -> Result<Group, String> {
        let own = std::fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let path = |mark: &str| own.lines().find_map(|line| Some(line.split_once(mark)?.1));
        let kinds = [
            ("/sys/fs/cgroup", path("0::"), "memory.max"),
            ("/sys/fs/cgroup/memory", path(":memory:"), "memory.limit_in_bytes"),
        ];
        let mut why = "this process is in no control group of memory".to_owned();
        for (root, path, file) in kinds {
            let Some(parent) = path.map(|path| PathBuf::from(format!("{root}{path}"))) else { continue };
            if !parent.join("cgroup.procs").exists() {
                continue;
            }
            let group = parent.join(format!("trap-{}", std::process::id()));
            if let Err(error) = std::fs::create_dir(&group) {
                why = format!("{}: {error}", group.display());
                continue;
            }
            let group = Group(group);
            let file = group.0.join(file);
            match File::options()
                .write(true)
                .open(&file)
                .and_then(|file| file.write_at(limit.to_string().as_bytes(), 0))
            {
                Ok(_) => {
                    // Swapping would be slow, and is not what is tried; not every kernel has the file.
                    let swap = File::options().write(true).open(group.0.join("memory.swap.max"));
                    let _ = swap.and_then(|file| file.write_at(b"0", 0));
                    return Ok(group);
                }
                Err(error) => why = format!("{}: {error}", file.display()),
            }
        }
        Err(why)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It empties when the killed process is gone.
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// The kernel kills what outgrows its control group. 64 MiB are enough for what the trap holds, and not for long.
#[test]
fn by_the_kernel_for_its_memory() {
    let group = match Group::new(64 << 20) {
        Ok(group) => group,
        Err(why) => return println!("SKIPPED: no kill by a control group: {why}"),
    };
    let members = File::options().write(true).open(group.0.join("cgroup.procs")).expect("the group's members");
    let least = if huge_pages::are_always_on() { 16 << 20 } else { 30 << 20 };
    for &mode in MODES {
        let mut command = Command::new(env!("CARGO_BIN_EXE_victim-trap-exit"));
        let members = members.try_clone().expect("a descriptor");
        // SAFETY: a write of one byte to an open file is safe between fork and exec. 0 is whoever writes it.
        unsafe { command.pre_exec(move || members.write_at(b"0", 0).map(drop)) };
        let ended = run_as(command, mode, &["memory"], &[]).held();
        assert_eq!(ended.status.signal(), Some(libc::SIGKILL), "{}: {}", ended.what, ended.status);
        if mode.records() {
            let held = recovered(&ended.log()).peak.live_bytes;
            assert!(held > least, "{}: {held}", ended.what);
        }
    }
}
