//! The victims under valgrind, with the tracker's malloc in place: memcheck looks for uses of memory that is not
//! initialised or not mapped, helgrind for locks taken in orders that can deadlock and for misuse of the thread library
//! (`valgrind.supp` says why not for races). One victim has the C library's malloc under the tracker (`Over`), so that
//! memcheck knows every block, also the recorder's, and finds reads past a block's end or after its free, and leaks.
//!
//! A few victims are run each time; all of them with `VALGRIND_VICTIMS=all cargo test --release -p tests --test
//! valgrind`, in about a quarter of an hour.
use std::path::Path;
use std::process::Command;

use tests::{folder, run};

#[path = "../traps/compiled.rs"]
#[allow(dead_code, reason = "the traps need more of it")]
mod compiled;

/// When a victim is run.
#[derive(Clone, Copy, PartialEq)]
enum When {
    /// Always.
    Always,
    /// Only when all are asked for.
    All,
    /// Never, for this reason.
    Never(&'static str),
}
use When::{All, Always, Never};

const SLOW: When = Never("takes minutes");
const FORKS: When =
    Never("forks, and the child makes jemalloc's locks anew, which helgrind takes for held by the parent");
const CROWD: When = Never("has more threads than valgrind's 500");
const LIMITED: When = Never("limits the address space, of which valgrind takes a part itself");
const NO_THREADS: When = Never("has no threads of its own, and no locks but those of the others");

/// A victim with its arguments (`LIBRARY` and `THROWING` stand for compiled ones), the code that it ends with, and when
/// it is run under memcheck and under helgrind.
type Victim = (&'static str, &'static [&'static str], i32, When, When);

const VICTIMS: &[Victim] = &[
    ("planted", &[], 0, All, All),
    ("rust-only", &[], 0, All, NO_THREADS),
    ("ending", &["finish"], 0, All, NO_THREADS),
    ("ending", &["panic"], 101, All, NO_THREADS),
    ("ending", &["exit"], 7, All, NO_THREADS),
    ("ending", &["leak"], 0, All, NO_THREADS),
    ("scopes", &["leaked"], 0, All, NO_THREADS),
    ("scopes", &["panicking"], 0, All, NO_THREADS),
    ("scopes", &["recursion"], 0, All, NO_THREADS),
    ("scopes", &["threads"], 0, All, All),
    ("scopes", &["future"], 0, All, All),
    ("scopes", &["many"], 0, All, NO_THREADS),
    ("c-semantics", &[], 0, Always, NO_THREADS),
    ("c-errno", &[], 0, All, NO_THREADS),
    ("c-sizes", &[], 0, All, NO_THREADS),
    ("c-pages", &[], 0, All, NO_THREADS),
    ("trap-strangers", &["free"], 0, All, NO_THREADS),
    ("trap-strangers", &["realloc"], 0, All, NO_THREADS),
    ("trap-strangers", &["zero"], 0, All, NO_THREADS),
    ("trap-threads", &[], 0, Always, Always),
    ("forked", &[], 0, All, FORKS),
    ("children", &[], 0, All, FORKS),
    ("threads", &[], 0, All, All),
    ("trap-many", &["threads"], 0, All, All),
    ("trap-many", &["crowd"], 0, CROWD, CROWD),
    ("trap-many", &["scopes"], 0, All, NO_THREADS),
    ("trap-many", &["depth"], 0, All, NO_THREADS),
    ("trap-queue", &["threads", "1"], 0, All, All),
    ("trap-queue", &["model", "1"], 0, All, All),
    ("trap-signals", &["raise"], 0, All, All),
    ("trap-signals", &["storm"], 0, Never("wants a thousand signals of a timer, of which few come"), SLOW),
    ("trap-fork", &["children"], 0, All, FORKS),
    ("trap-fork", &["own"], 0, All, FORKS),
    ("trap-fork", &["orphan"], 0, All, All),
    ("trap-fork", &["programs"], 0, All, FORKS),
    ("trap-fork", &["atfork"], 0, All, FORKS),
    ("trap-exit", &["return"], 0, All, All),
    ("trap-exit", &["exit in a thread"], 3, All, All),
    ("trap-exit", &["return while a thread finishes"], 0, All, All),
    ("trap-exit", &["panic"], 101, All, All),
    ("trap-folder", &[], 0, All, NO_THREADS),
    ("trap-handles", &[], 0, All, FORKS),
    ("trap-descriptors", &[], 0, Never("closes valgrind's own descriptors as well"), NO_THREADS),
    ("trap-table", &["ends"], 0, All, NO_THREADS),
    ("trap-table", &["locks"], 0, All, NO_THREADS),
    ("trap-table", &["function"], 0, All, All),
    ("trap-table", &["exits"], 7, All, All),
    ("trap-library", &["LIBRARY"], 0, All, All),
    ("trap-exception", &["THROWING"], 0, All, NO_THREADS),
    ("trap-early", &[], 0, All, All),
    ("trap-stress", &["1", "LIBRARY"], 0, All, FORKS),
    ("trap-clock", &[], 0, Never("its clock is put before libc's, where valgrind has its own"), NO_THREADS),
    (
        "trap-disk",
        &[],
        0,
        Never("needs a small disk of its own; what it does when it is full is trap-folder's"),
        NO_THREADS,
    ),
    ("trap-killed", &[], 0, Never("never ends by itself"), Never("never ends by itself")),
    ("trap-refused", &[], 0, LIMITED, LIMITED),
    ("trap-exhausted", &[], 0, LIMITED, LIMITED),
    ("undistorted", &[], 0, All, NO_THREADS),
    ("undistorted-plain", &[], 0, Never("is not tracked"), Never("is not tracked")),
    ("oracle-plain", &[], 0, Never("is not tracked"), Never("is not tracked")),
    ("oracle-tracked", &["family", "1"], 0, All, NO_THREADS),
    ("oracle-tracked", &["growing", "1"], 0, All, NO_THREADS),
    ("mix-tracker", &["1"], 0, All, NO_THREADS),
    ("mix-mimalloc", &["1"], 0, All, NO_THREADS),
    ("mix-system", &["1"], 0, Always, NO_THREADS),
    ("two-backends", &[], 0, All, NO_THREADS),
    ("analysis", &["fates"], 0, All, NO_THREADS),
    ("growth", &[], 0, All, NO_THREADS),
    ("model", &["TRACE"], 0, Always, Always),
    ("stacks", &["-"], 0, Always, NO_THREADS),
    ("trap-stacks", &[], 0, All, FORKS),
    ("book", &[], 0, All, All),
    ("near-limit", &[], 0, Never("takes all memory that it may have"), Never("takes all memory that it may have")),
];

/// Two threads that allocate by every way, resize and free each other's blocks.
const TRACE: &str = "threads 2\nend alive\n0 p 1\n0 m 1 100\n0 m 2 0\n0 n 3 700 4096\n1 p 2\n1 l 1\n1 m 4 20000\n1 c 5 3 9\n\
    1 a 6 64 1000000\n0 r 1 20000\n0 r 4 30\n0 g 3 700 4096 90000\n1 f 1\n1 d 3 90000 4096\n0 b 0\n0 f 2\n0 f 4\n0 e 0\n\
    0 r 5 0\n1 x 0\n0 f 6\n";

fn all() -> bool {
    std::env::var("VALGRIND_VICTIMS").is_ok_and(|which| which == "all")
}

/// Runs a victim under a tool, once for each of `modes`; returns what the victim did wrong and what the tool found.
fn watch(tool: &[&str], (name, arguments, code, ..): &Victim, mode: &str) -> Option<String> {
    let folder = folder();
    let trace = folder.path().join("trace");
    std::fs::write(&trace, TRACE).expect("room for the trace");
    let program = Path::new(env!("CARGO_BIN_EXE_victim-model")).with_file_name(format!("victim-{name}"));
    let mut command = Command::new("valgrind");
    command.args(tool).args(["--error-exitcode=99", "--fullpath-after=/"]);
    if *name != "mix-system" {
        // Otherwise valgrind would put its own malloc in place of the tracker's.
        command.arg("--soname-synonyms=somalloc=nouserintercepts");
    }
    command.arg(program).arg(folder.path().join("victim.timeline.json"));
    for argument in *arguments {
        match *argument {
            "LIBRARY" => command.arg(compiled::library()),
            "THROWING" => command.arg(compiled::throwing()),
            "TRACE" => command.arg(&trace),
            other => command.arg(other),
        };
    }
    if name.ends_with("stacks") {
        command.env("ALLOC_TRACKER_STACKS", "64KiB");
    }
    command.env("ALLOC_TRACKER", mode).env("TRAP_STRESS_SECONDS", "5").env("RUST_BACKTRACE", "0");
    let ran = run(&mut command);
    let good =
        ran.code == Some(*code) && !ran.stdout.contains("FAIL") && ran.stderr.contains("ERROR SUMMARY: 0 errors");
    (!good).then(|| format!("{name} {arguments:?} {mode}: {:?}\n{}{}", ran.code, ran.stdout, ran.stderr))
}

fn watched(tool: &[&str], when: impl Fn(&Victim) -> When) {
    if let Err(error) = Command::new("valgrind").arg("--version").output() {
        eprintln!("SKIPPED: no valgrind to watch the victims with ({error}); install valgrind");
        return;
    }
    let due = |victim: &&Victim| when(victim) == Always || all() && when(victim) == All;
    let modes: &[&str] = if all() { &["on", "exact"] } else { &["on"] };
    let runs = VICTIMS.iter().filter(due).flat_map(|victim| modes.iter().map(move |mode| (victim, mode)));
    let failed: Vec<String> = runs.filter_map(|(victim, mode)| watch(tool, victim, mode)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn memcheck_finds_nothing() {
    watched(&["--tool=memcheck", "--leak-check=full", "--errors-for-leak-kinds=definite"], |victim| victim.3);
}

#[test]
fn helgrind_finds_nothing() {
    let suppressions = concat!("--suppressions=", env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/valgrind.supp");
    watched(&["--tool=helgrind", "--history-level=none", suppressions], |victim| victim.4);
}

/// Every victim is run, or has a reason why it is not.
#[test]
fn no_victim_is_left_out() {
    let manifest = include_str!("../../Cargo.toml");
    let names = manifest.lines().filter_map(|line| line.strip_prefix("name = \"victim-")?.strip_suffix('"'));
    let left_out: Vec<&str> = names.filter(|name| !VICTIMS.iter().any(|victim| victim.0 == *name)).collect();
    assert_eq!(left_out, Vec::<&str>::new());
    for (name, arguments, _, memcheck, helgrind) in VICTIMS {
        for (tool, when) in [("memcheck", memcheck), ("helgrind", helgrind)] {
            if let Never(why) = when {
                println!("{name} {arguments:?}: not under {tool}: {why}");
            }
        }
    }
}
