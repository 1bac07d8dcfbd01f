//! `alloc-tracker record`: programs that know nothing of the tracker, run as a user runs them. Each is run plainly beside it:
//! what it prints and returns must not change.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use alloc_timeline::{Ending, Timeline};
use tests::{Ran, binary, folder, run, text};

#[path = "record/code_that_changes.rs"]
mod code_that_changes;
#[path = "record/guest.rs"]
mod guest;
#[path = "record/odd_programs.rs"]
mod odd_programs;
#[path = "record/output.rs"]
mod output;
#[path = "record/programs.rs"]
pub mod programs;
#[path = "record/refused.rs"]
mod refused;
#[path = "record/running.rs"]
mod running;
#[cfg(target_arch = "x86_64")]
#[path = "record/unwound.rs"]
mod unwound;

use programs::{BLOCKS, compiled, has};

/// Ends what hangs, however slow the machine is.
const LIMIT: Duration = Duration::from_secs(300);

fn record(folder: &Path) -> Command {
    let mut command = Command::new(binary("alloc-tracker"));
    command.arg("record").current_dir(folder).env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_STACKS");
    command
}

/// Runs a command under `record` in `folder`, with these options.
pub fn recorded(folder: &Path, options: &[&str], command: &[&str]) -> Ran {
    run(record(folder).args(options).arg("--").args(command))
}

/// Records the program with a stack for each 16 KiB on the average. Returns what it did, and the folded stacks of what was alive at the peak.
fn recorded_stacks(folder: &Path, command: &[&str]) -> (Ran, Vec<(String, u64)>) {
    let ran = recorded(folder, &["-o", "run.timeline.json", "--stacks", "16KiB"], command);
    let viewer = ["stacks", "--folded", "run.timeline.json"];
    let folded = run(Command::new(binary("viewer")).args(viewer).current_dir(folder));
    let row =
        |line: &str| line.rsplit_once(' ').map(|(calls, bytes)| (calls.to_owned(), bytes.parse().expect("bytes")));
    (ran, folded.stdout.lines().filter_map(row).collect())
}

/// All timelines in the folder, by their paths.
fn timelines(folder: &Path) -> Vec<(PathBuf, Timeline)> {
    let files = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files.filter(|path| text(path).ends_with(".timeline.json")).collect();
    files.sort();
    let load = |path: PathBuf| (path.clone(), alloc_timeline::load(&path).unwrap_or_else(|error| panic!("{error}")));
    files.into_iter().map(load).collect()
}

/// Whether this user may do what only root may.
fn is_root() -> bool {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The logs in the folder.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    files.filter(|path| text(path).ends_with(".log")).collect()
}

/// The words of a timeline's command.
fn command(timeline: &Timeline) -> Vec<String> {
    let words = timeline.run["command"].as_array().expect("a command");
    words.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
}

/// Waits until `found` finds something.
pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if let Some(found) = found() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}: waited for it in vain");
}

/// A tick at which nothing is new takes a sample only once in ten, and the end always takes one.
#[test]
fn a_program_that_sleeps_has_few_samples() {
    let folder = folder();
    let ran = recorded(folder.path(), &["--stacks", "off"], &["sleep", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timelines = timelines(folder.path());
    let [(_, timeline)] = &timelines[..] else { panic!("{} timelines", timelines.len()) };
    let series = &timeline.series;
    let ticks = timeline.duration_ns / series.interval_ns;
    assert!(series.time_ns.len() as u64 <= ticks / 2, "{} samples on {ticks} ticks", series.time_ns.len());
    assert!(series.time_ns.last() >= Some(&2_000_000_000), "{:?}", series.time_ns);
}

#[test]
fn what_a_program_prints_and_returns_does_not_change() {
    let folder = folder();
    for command in [
        &["ls", "/"][..],
        &["ls", "/no/such/file"],
        &["sh", "-c", "echo out; echo err >&2; exit 7"],
        &["sh", "-c", "cat; kill -TERM $$"],
        &["env", "true"],
    ] {
        let plain = Command::new(command[0]).args(&command[1..]).output().expect("a program");
        let recorded = recorded(folder.path(), &["--quiet"], command);
        assert_eq!(recorded.stdout, String::from_utf8_lossy(&plain.stdout), "{command:?}");
        let said = String::from_utf8_lossy(&plain.stderr).into_owned();
        assert!(recorded.stderr.starts_with(&said), "{command:?}: {}", recorded.stderr);
        let code = plain.status.code().unwrap_or(128 + libc::SIGTERM);
        assert_eq!(recorded.code, Some(code), "{command:?}: {}", recorded.stderr);
    }
}

#[test]
fn a_program_in_c_plus_plus_has_its_peak_by_stack_and_by_object() {
    let folder = folder();
    let Some(program) = compiled(folder.path(), "blocks.cpp", BLOCKS) else { return };
    let ran = recorded(folder.path(), &["-o", "run.timeline.json"], &[text(&program)]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), "done\n"), "{}", ran.stderr);
    let found = timelines(folder.path());
    let [(path, timeline)] = &found[..] else { panic!("one timeline: {found:?}") };
    assert!(path.ends_with("run.timeline.json"));
    assert_eq!(timeline.ending, Ending::Exit);
    assert_eq!(command(timeline), [text(&program)]);
    // The program resizes nothing. What the recorder resizes, as when it reads the names of calls, is not the program's.
    assert_eq!(timeline.totals.reallocations, 0);
    // The program holds 48 blocks of 1 MiB at once, and little else.
    let peak = timeline.peak.live_bytes;
    assert!((48 << 20..56 << 20).contains(&peak), "{peak}");
    for said in ["Who held the peak, by stack", "hold_much", "blocks", "next: viewer"] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    let stacks = timeline.stacks.as_ref().expect("stacks are on");
    let own = stacks.calls.iter().find(|call| call.function.contains("hold_much")).expect("the function that holds");
    assert_eq!(own.object.as_deref(), Some("blocks"));
}

#[test]
fn every_process_has_a_timeline_of_its_own() {
    let folder = folder();
    let ran = recorded(
        folder.path(),
        &["-o", "run-%p.timeline.json"],
        &["sh", "-c", "ls / >/dev/null; sort /dev/null; true"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut programs: Vec<String> =
        timelines(folder.path()).iter().map(|(_, timeline)| command(timeline)[0].clone()).collect();
    programs.sort();
    assert_eq!(programs, ["ls", "sh", "sort"], "{}", ran.stderr);
    assert_eq!(logs(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_program_that_becomes_another_keeps_both_timelines() {
    let folder = folder();
    let ran = recorded(folder.path(), &["-o", "run.timeline.json"], &["sh", "-c", "exec sort /dev/null"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let found = timelines(folder.path());
    let programs: Vec<(&str, String)> = found
        .iter()
        .map(|(path, timeline)| {
            (path.file_name().and_then(|name| name.to_str()).expect("a name"), command(timeline)[0].clone())
        })
        .collect();
    let expected = [("run-2.timeline.json", "sort".to_owned()), ("run.timeline.json", "sh".to_owned())];
    assert_eq!(programs, expected, "{}", ran.stderr);
}

#[test]
fn with_follow_none_the_first_program_alone_is_recorded() {
    let folder = folder();
    let script = "ls / >/dev/null; env | grep -c -e ALLOC_TRACKER_RECORD -e liballoc_preload; true";
    let ran = recorded(folder.path(), &["--follow", "none"], &["sh", "-c", script]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "0"), "{}", ran.stderr);
    let programs: Vec<String> =
        timelines(folder.path()).iter().map(|(_, timeline)| command(timeline)[0].clone()).collect();
    assert_eq!(programs, ["sh"]);
}

#[test]
fn with_follow_torch_programs_without_libtorch_leave_nothing() {
    let folder = folder();
    let ran = recorded(folder.path(), &["--follow", "torch"], &["sh", "-c", "ls / >/dev/null; true"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(timelines(folder.path()).is_empty() && logs(folder.path()).is_empty(), "{}", ran.stderr);
}

#[test]
fn forked_workers_that_leave_by_exit_have_timelines() {
    if !has("python3") {
        return;
    }
    let folder = folder();
    let script = "import os\nif os.fork() == 0:\n    kept = [b'x' * 4096 for _ in range(2000)]\n    os._exit(5)\n\
                  print(os.waitstatus_to_exitcode(os.wait()[1]))";
    let ran = recorded(folder.path(), &["-o", "run-%p.timeline.json"], &["python3", "-c", script]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "5"), "{}", ran.stderr);
    let found = timelines(folder.path());
    // A version manager may put shells in front of Python, which are recorded as well.
    let is_python = |timeline: &Timeline| command(timeline)[0].contains("python");
    let pythons: Vec<&Timeline> = found.iter().map(|(_, timeline)| timeline).filter(|found| is_python(found)).collect();
    let [a, b] = pythons[..] else { panic!("two of Python: {}", ran.stderr) };
    assert_eq!((a.ending, b.ending), (Ending::Exit, Ending::Exit));
}

#[test]
fn node_runs_as_without() {
    if !has("node") {
        return;
    }
    let folder = folder();
    let script =
        "const kept = []; for (let i = 0; i < 64; i++) kept.push(Buffer.alloc(1 << 20, 1)); console.log(kept.length)";
    let ran = recorded(folder.path(), &["-o", "run.timeline.json"], &["node", "-e", script]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "64"), "{}", ran.stderr);
    let (_, timeline) = timelines(folder.path()).into_iter().next().expect("a timeline");
    // Buffers of that size come from malloc, not from V8's heap.
    assert!(timeline.peak.live_bytes >= 64 << 20, "{}", timeline.peak.live_bytes);
}

/// As much as no machine has: the C library's functions that allocate say no, as without the recorder, and the block that was to grow stays.
#[test]
fn what_is_larger_than_all_memory_is_refused_as_without() {
    if !has("python3") {
        return;
    }
    let script = "
import ctypes, errno
c, much = ctypes.CDLL(None, use_errno=True), 1 << 45
size, address = ctypes.c_size_t, ctypes.c_void_p
def call(name, types, *arguments):
    function = getattr(c, name)
    function.restype, function.argtypes = address, types
    ctypes.set_errno(0)
    return function(*arguments), errno.errorcode.get(ctypes.get_errno())
def say(name, types, *arguments):
    block, problem = call(name, types, *arguments)
    print(name, block is None, problem)
block, _ = call('malloc', [size], 100)
ctypes.memset(block, 7, 100)
say('malloc', [size], much)
say('calloc', [size, size], much >> 10, 1 << 10)
say('memalign', [size, size], 64, much)
kept = call('realloc', [address, size], block, much)
print('realloc', kept[0] is None, kept[1], ctypes.string_at(block if kept[0] is None else kept[0], 100) == bytes([7] * 100))
";
    let folder = folder();
    let command = ["python3", "-c", script];
    let plain = Command::new(command[0]).args(&command[1..]).output().expect("a program");
    let plain = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert_eq!(plain.lines().count(), 4, "{plain}");
    let recorded = recorded(folder.path(), &["--quiet"], &command);
    assert_eq!((recorded.stdout, recorded.code), (plain, Some(0)), "{}", recorded.stderr);
}

#[test]
fn a_program_with_a_malloc_of_its_own_is_said_to_have_one() {
    let folder = folder();
    let with = ["-fno-builtin", "-rdynamic"];
    let Some(program) = programs::compiled_with(folder.path(), "own.c", programs::OWN_MALLOC, &with) else { return };
    let ran = recorded(folder.path(), &["-o", "run.timeline.json", "--stacks", "off"], &[text(&program)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("brings a malloc of its own"), "{}", ran.stderr);
    let (_, timeline) = timelines(folder.path()).into_iter().next().expect("a timeline");
    assert!(timeline.interposition.iter().any(|resolution| !resolution.tracked), "{:?}", timeline.interposition);
}
