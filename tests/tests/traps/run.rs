//! Runs a trap in each of its modes and says what it left.
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use alloc_timeline::{Ending, Timeline};
use tempfile::TempDir;
use tests::folder;

use crate::counts::consistent;

/// Only ends what hangs: no trap takes so long, however busy or slow the machine is.
pub const LIMIT: Duration = Duration::from_secs(600);

/// A way to run a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Its name in messages.
    pub name: &'static str,
    /// Whether there is a session.
    pub session: bool,
    /// What `ALLOC_TRACKER` is set to.
    pub switch: Option<&'static str>,
    /// What `ALLOC_TRACKER_STACKS` is set to.
    pub stacks: Option<&'static str>,
}

/// Tracked, and nobody records.
pub const ALONE: Mode = Mode { name: "alone", session: false, switch: None, stacks: None };
/// Tracked, with a session.
pub const SESSION: Mode = Mode { name: "session", session: true, switch: None, stacks: None };
/// Switched off, with a session, which then has nothing to tell.
pub const OFF: Mode = Mode { name: "off", session: true, switch: Some("off"), stacks: None };

/// Every block in order, with a session.
pub const EXACT: Mode = Mode { name: "exact", session: true, switch: Some("exact"), stacks: None };

/// With a stack of every few kilobytes, and a session.
pub const STACKS: Mode = Mode { name: "stacks", session: true, switch: None, stacks: Some("4KiB") };

/// With so few stacks that only the sampled blocks leave the hot path, and a session.
pub const RARE_STACKS: Mode = Mode { name: "rare stacks", session: true, switch: None, stacks: Some("64KiB") };

/// Over the C library's allocator, with a session.
pub const SYSTEM: Mode = Mode { name: "system", ..SESSION };

/// With a session, and with jemalloc called for every block.
pub const CALLS: Mode = Mode { name: "calls", ..SESSION };

/// All of them.
pub const MODES: &[Mode] = &[ALONE, SESSION, OFF, EXACT, STACKS, RARE_STACKS, SYSTEM, CALLS];

impl Mode {
    /// Whether there is a timeline that tells of all allocations.
    pub fn records(self) -> bool {
        self.session && self.switch != OFF.switch
    }
}

/// What a trap left.
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// All of its stdout.
    pub stdout: String,
    /// All of its stderr.
    pub stderr: String,
    /// The folder with its timeline, if it wrote one, and whatever else it left.
    pub folder: TempDir,
    /// Which trap in which mode, for messages.
    pub what: String,
}

impl Ended {
    /// Where its timeline is, if it wrote one.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("trap.timeline.json")
    }

    /// Where the log is, if it left one.
    pub fn log(&self) -> PathBuf {
        self.folder.path().join("trap.timeline.json.log")
    }

    /// Its timeline.
    pub fn timeline(&self) -> Timeline {
        alloc_timeline::load(self.path()).unwrap_or_else(|error| panic!("{}: {error}\n{}", self.what, self.stderr))
    }

    /// Ended with 0, and every check held; there was at least one.
    pub fn passed(self) -> Ended {
        assert!(self.status.success(), "{}: {}\n{}{}", self.what, self.status, self.stdout, self.stderr);
        self.held()
    }

    /// Every check held, however it ended; there was at least one.
    pub fn held(self) -> Ended {
        let failed: Vec<&str> = self.stdout.lines().filter(|line| line.starts_with("FAIL")).collect();
        assert!(failed.is_empty(), "{}:\n{}", self.what, failed.join("\n"));
        assert!(self.stdout.lines().any(|line| line.starts_with("ok ")), "{}: no check\n{}", self.what, self.stderr);
        self
    }

    /// The numbers in the line that begins with `word`.
    pub fn numbers(&self, word: &str) -> Vec<u64> {
        let line = self.stdout.lines().find(|line| line.starts_with(word)).expect("the line");
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    }
}

/// Runs a trap; `more` follows the timeline's path (`-` stands for none where `more` is given).
pub fn run(path: &str, mode: Mode, more: &[&str], environment: &[(&str, &str)]) -> Ended {
    run_as(Command::new(path), mode, more, environment)
}

/// The same for a command that is prepared already.
pub fn run_as(mut command: Command, mode: Mode, more: &[&str], environment: &[(&str, &str)]) -> Ended {
    let folder = folder();
    let out = folder.path().join("trap.timeline.json");
    let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
    let path = command.get_program().to_string_lossy().into_owned();
    let what = format!("{} {more:?} {}", path.rsplit('/').next().unwrap_or(&path), mode.name);
    for name in ["ALLOC_TRACKER", "ALLOC_TRACKER_BACKEND", "ALLOC_TRACKER_CACHE", "ALLOC_TRACKER_STACKS"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied());
    command.envs(mode.switch.map(|switch| ("ALLOC_TRACKER", switch)));
    command.envs(mode.stacks.map(|mean| ("ALLOC_TRACKER_STACKS", mean)));
    command.envs((mode == SYSTEM).then_some(("ALLOC_TRACKER_BACKEND", "system")));
    if mode.session {
        command.arg(&out);
    } else if !more.is_empty() {
        command.arg("-");
    }
    command.args(more).stdin(Stdio::null());
    command.stdout(File::create(&stdout).expect("a file")).stderr(File::create(&stderr).expect("a file"));
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
    let status = wait(&mut child);
    let text = |path| String::from_utf8_lossy(&std::fs::read(path).expect("what it said")).into_owned();
    let (stdout, stderr) = (text(&stdout), text(&stderr));
    let status = status.unwrap_or_else(|| panic!("{what} hangs\n{stdout}{stderr}"));
    Ended { status, stdout, stderr, folder, what }
}

/// Waits for the end of a trap; `None` when it has to be killed.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().expect("a child to wait for") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Runs a trap in all modes, each of which must pass; gives the run with a session and its timeline.
pub fn all_modes(path: &str, more: &[&str]) -> (Ended, Timeline) {
    for mode in MODES.iter().filter(|&&mode| mode != SESSION) {
        let ended = run(path, *mode, more, &[]).passed();
        if mode.records() {
            recorded(&ended);
        }
    }
    with_session(path, more)
}

/// Runs a trap with a session.
pub fn with_session(path: &str, more: &[&str]) -> (Ended, Timeline) {
    let ended = run(path, SESSION, more, &[]).passed();
    let timeline = recorded(&ended);
    (ended, timeline)
}

/// The timeline of a session that was finished, which must be right.
fn recorded(ended: &Ended) -> Timeline {
    let timeline = ended.timeline();
    consistent(&timeline);
    assert_eq!(timeline.ending, Ending::Finished, "{}", ended.what);
    timeline
}
