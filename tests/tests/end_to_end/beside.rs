//! A program in Python, run plainly and beside it under `alloc-tracker record -q`. What it prints on each of its outputs and how it ends must
//! be the same, and each process that was recorded must have left a timeline, or a log of which one can be made.
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use alloc_timeline::Ending;
use tempfile::TempDir;
use tests::{Ran, binary, folder, text, viewer};

use super::python_api::own_python;
use super::record::wait_for;

#[path = "beside/terminal.rs"]
mod terminal;

use terminal::Terminal;

/// Processor time after which a program does what it was started for, in the kernel's ticks of 10 ms.
const RUNS: u64 = 5;
/// How many looks at a program in sequence must find that it waits.
const LOOKS: u32 = 5;

/// What is sent to a program that has written its process id into the file `ready`.
#[derive(Clone, Copy)]
pub enum Sent {
    /// The key Ctrl-C of the terminal: the kernel tells every process that runs there.
    CtrlC,
    /// SIGTERM, to the process that was started.
    Sigterm,
}

/// What the program does when the signal comes.
#[derive(Clone, Copy)]
pub enum While {
    /// Its main thread computes.
    Running,
    /// Its main thread waits for something.
    Waiting,
}

/// A program that is to run twice.
pub struct Program {
    python: String,
    words: Vec<String>,
    variables: Vec<(String, String)>,
    input: String,
    signal: Option<(Sent, While)>,
    folder: TempDir,
}

/// `python3`, and each Python that `ALLOC_TRACKER_TEST_PYTHONS` names, by `:`.
pub fn pythons() -> Vec<String> {
    let named = std::env::var("ALLOC_TRACKER_TEST_PYTHONS").unwrap_or_default();
    let named = named.split(':').filter(|python| !python.is_empty()).map(str::to_owned);
    own_python().into_iter().chain(named).collect()
}

/// This Python with these words behind it. It runs in a folder of its own, `work`.
pub fn program(python: &str, words: &[&str]) -> Program {
    let folder = folder();
    fs::create_dir(folder.path().join("work")).expect("a folder");
    let words = words.iter().map(|&word| word.to_owned()).collect();
    let program =
        Program { python: python.to_owned(), words, variables: Vec::new(), input: String::new(), signal: None, folder };
    program.with("PYTHONDONTWRITEBYTECODE", "1").with("OMP_NUM_THREADS", "1")
}

impl Program {
    /// With this in its environment.
    pub fn with(mut self, variable: &str, value: &str) -> Program {
        self.variables.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// With this as its standard input.
    pub fn reads(mut self, input: &str) -> Program {
        input.clone_into(&mut self.input);
        self
    }

    /// That gets this signal.
    pub fn sent(mut self, signal: Sent, what: While) -> Program {
        self.signal = Some((signal, what));
        self
    }

    /// With a file of this name and content in its folder.
    pub fn beside(self, name: &str, content: &str) -> Program {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
        self
    }

    /// The folder that it runs in.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Runs it twice, and holds the two against each other: what the plain one did, and how the processes of the recorded one ended.
    ///
    /// # Panics
    /// When they differ, or when a recorded process has left nothing that can be read.
    pub fn runs_the_same(&self) -> (Ran, Vec<Ending>) {
        let plain = self.run(Command::new(&self.python));
        let left = self.folder.path().join("left");
        fs::create_dir(&left).expect("a folder");
        let mut command = Command::new(binary("alloc-tracker"));
        command.args(["record", "-q", "-o", text(&left.join("run-%p.timeline.json")), "--", &self.python]);
        let mut recorded = self.run(command);
        let told = self.told_by_the_recorder(&mut recorded);
        let endings = endings(&left);
        let logs = endings.iter().filter(|ending| **ending == Ending::Recovered).count();
        assert!(told >= logs, "{:?}: {logs} logs are left, of which {told} lines tell", self.words);
        let words = (&self.python, &self.words);
        assert_eq!(recorded.code, plain.code, "{words:?}, plain:\n{}\nrecorded:\n{}", plain.stderr, recorded.stderr);
        assert_eq!(
            recorded.stdout, plain.stdout,
            "{words:?}: standard output; plain is on the right\n{}",
            recorded.stderr
        );
        assert_eq!(recorded.stderr, plain.stderr, "{words:?}: standard error; plain is on the right");
        (plain, endings)
    }

    /// Takes away what the recorder says of processes that left no timeline, or go on; the number of these lines.
    fn told_by_the_recorder(&self, ran: &mut Ran) -> usize {
        let is_told = |line: &&str| {
            let told = line.strip_prefix("alloc-tracker: process ");
            let left = [
                " left no timeline but its log: ",
                " goes on; its timeline will be ",
                " was killed before it recorded anything: ",
            ];
            told.is_some_and(|told| left.iter().any(|words| told.contains(words)))
        };
        let told = ran.stderr.lines().filter(is_told).count();
        ran.stderr = ran.stderr.split_inclusive('\n').filter(|line| !is_told(line)).collect();
        told
    }

    fn run(&self, mut command: Command) -> Ran {
        let path = |name: &str| self.folder.path().join(name);
        fs::write(path("input"), &self.input).expect("a file");
        let ready = self.work().join("ready");
        let _ = fs::remove_file(&ready);
        command.args(&self.words).current_dir(self.work());
        for variable in ["ALLOC_TRACKER", "ALLOC_TRACKER_STACKS", "PYTHONPATH"] {
            command.env_remove(variable);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).env("XDG_CACHE_HOME", path("cache"));
        command.stdin(File::open(path("input")).expect("a file"));
        command.stdout(File::create(path("stdout")).expect("a file"));
        command.stderr(File::create(path("stderr")).expect("a file"));
        hears_ctrl_c(&mut command);
        let terminal = Terminal::open();
        terminal.give_to(&mut command);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        if let Some((signal, what)) = self.signal {
            wait_until(&ready, what, &mut child);
            match signal {
                Sent::CtrlC => terminal.press_ctrl_c(),
                // SAFETY: kill takes numbers; the child has not been waited for.
                Sent::Sigterm => assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0),
            }
        }
        let status = wait_for("the end of the program", || child.try_wait().expect("a child"));
        let read = |name: &str| {
            let printed = fs::read(path(name)).expect("what it printed");
            without_addresses(&String::from_utf8_lossy(&printed))
        };
        // As shells and the recorder tell it.
        let code = status.code().or_else(|| Some(128 + status.signal()?));
        Ran { code, stdout: read("stdout"), stderr: read("stderr") }
    }
}

/// Has the command hear Ctrl-C. What started this test may have ignored it, and what is ignored is inherited.
pub fn hears_ctrl_c(command: &mut Command) {
    let hear = || {
        // SAFETY: signal takes numbers, and may be called between fork and exec.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: the function makes a system call and nothing else.
    unsafe { command.pre_exec(hear) };
}

/// With `0x` in the place of each number that begins so. The kernel has each process at other addresses.
fn without_addresses(printed: &str) -> String {
    let mut parts = printed.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + "0x" + part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()))
}

/// Waits until the program is where it is to get its signal.
fn wait_until(ready: &Path, what: While, child: &mut Child) {
    let process: u32 = wait_for("the program's process id", || {
        assert!(child.try_wait().expect("a child").is_none(), "it has ended before it was ready");
        fs::read_to_string(ready).ok()?.strip_suffix('\n')?.parse().ok()
    });
    // The state and the times of the main thread: fields 3, 14 and 15 of proc_pid_stat(5). A name in brackets is before them.
    let look = || {
        let stat = fs::read_to_string(format!("/proc/{process}/task/{process}/stat")).expect("it runs");
        let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<u64>().expect("a number");
        (fields[0] == "S", ticks(11) + ticks(12))
    };
    let (before, mut looks) = (look().1, 0);
    wait_for("what the program is to do", || {
        let (waits, ticks) = look();
        looks = if waits { looks + 1 } else { 0 };
        let is_there = match what {
            While::Running => ticks >= before + RUNS,
            While::Waiting => looks >= LOOKS,
        };
        is_there.then_some(())
    });
}

/// Whether a process was killed before it recorded anything, as right after its fork.
fn is_empty(log: &Path) -> bool {
    fs::metadata(log).expect("a log").len() == 0
}

/// How each process ended that left something in the folder, by name. Waits for those that go on a little longer than the program, such as
/// multiprocessing's resource tracker.
fn endings(left: &Path) -> Vec<Ending> {
    let files = || fs::read_dir(left).expect("the folder").map(|entry| entry.expect("an entry").path());
    let goes_on = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let process = name.trim_start_matches("run-").split(['-', '.']).next().expect("a process id");
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // One that has ended may be there until somebody asks how.
        name.ends_with(".log") && stat.rsplit_once(')').is_some_and(|(_, state)| !state.starts_with(" Z"))
    };
    wait_for("the end of all recorded processes", || (!files().any(|path| goes_on(&path))).then_some(()));
    let ending = |path: PathBuf| {
        let log = text(&path).ends_with(".log");
        let whole = if log { path.with_extension("recovered") } else { path.clone() };
        if log {
            if is_empty(&path) {
                return Ending::Recovered;
            }
            let ran = viewer(&["recover", text(&path), "-o", text(&whole)]);
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        }
        alloc_timeline::load(&whole).unwrap_or_else(|error| panic!("{error}")).ending
    };
    let files: Vec<PathBuf> = files().collect();
    assert!(!files.is_empty(), "nothing was recorded");
    let mut endings: Vec<Ending> = files.into_iter().map(ending).collect();
    endings.sort_by_key(|ending| format!("{ending:?}"));
    endings
}
