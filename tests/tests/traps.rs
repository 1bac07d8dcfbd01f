//! The traps that other profilers fell into (`victims/c_*.rs`, `victims/trap_*.rs`), each run without a session, with
//! one, and with the tracker switched off. A trap prints `ok` or `FAIL` for each of its checks; here it must end in
//! time, as it should, without a FAIL, and with a timeline that is right.
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use alloc_timeline::{Dimension, Ending, Row, ScopeTotals, Snapshot, Timeline};
use tempfile::TempDir;
use tests::{folder, tables};

/// A trap that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Tracked, and nobody records.
    Alone,
    /// Tracked, with a session.
    Session,
    /// `ALLOC_TRACKER=off`, with a session, which then has nothing to tell.
    Off,
}

const MODES: [Mode; 3] = [Mode::Alone, Mode::Session, Mode::Off];

/// What a trap left.
struct Ended {
    status: ExitStatus,
    stdout: String,
    stderr: String,
    /// The folder with its timeline, if it wrote one, and whatever else it left.
    folder: TempDir,
    what: String,
}

impl Ended {
    fn path(&self) -> PathBuf {
        self.folder.path().join("trap.timeline.json")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("trap.timeline.json.log")
    }

    fn timeline(&self) -> Timeline {
        alloc_timeline::load(&self.path()).unwrap_or_else(|error| panic!("{}: {error}\n{}", self.what, self.stderr))
    }

    /// Ended with 0, and every check held; there was at least one.
    fn passed(self) -> Ended {
        assert!(self.status.success(), "{}: {}\n{}{}", self.what, self.status, self.stdout, self.stderr);
        self.held()
    }

    fn held(self) -> Ended {
        let failed: Vec<&str> = self.stdout.lines().filter(|line| line.starts_with("FAIL")).collect();
        assert!(failed.is_empty(), "{}:\n{}", self.what, failed.join("\n"));
        assert!(self.stdout.lines().any(|line| line.starts_with("ok ")), "{}: no check\n{}", self.what, self.stderr);
        self
    }

    /// The numbers in the line that begins with `word`.
    fn numbers(&self, word: &str) -> Vec<u64> {
        let line = self.stdout.lines().find(|line| line.starts_with(word)).expect("the line");
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    }
}

/// Runs a trap; `more` follows the timeline's path (`-` stands for none where `more` is given).
fn run(path: &str, mode: Mode, more: &[&str], environment: &[(&str, &str)]) -> Ended {
    let folder = folder();
    let out = folder.path().join("trap.timeline.json");
    let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
    let mut command = Command::new(path);
    command.env_remove("ALLOC_TRACKER").envs(environment.iter().copied());
    match mode {
        Mode::Alone if more.is_empty() => &mut command,
        Mode::Alone => command.arg("-"),
        Mode::Session => command.arg(&out),
        Mode::Off => command.arg(&out).env("ALLOC_TRACKER", "off"),
    };
    command.args(more).stdin(Stdio::null());
    command.stdout(File::create(&stdout).expect("a file")).stderr(File::create(&stderr).expect("a file"));
    let what = format!("{} {more:?} {mode:?}", path.rsplit('/').next().unwrap_or(path));
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
    let end = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child to wait for") {
            break Some(status);
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = |path| String::from_utf8_lossy(&std::fs::read(path).expect("what it said")).into_owned();
    let (stdout, stderr) = (text(&stdout), text(&stderr));
    let status = status.unwrap_or_else(|| panic!("{what} hangs\n{stdout}{stderr}"));
    Ended { status, stdout, stderr, folder, what }
}

/// Runs a trap in all modes, each of which must pass; gives the run with a session and its timeline.
fn all_modes(path: &str, more: &[&str]) -> (Ended, Timeline) {
    for mode in [Mode::Alone, Mode::Off] {
        run(path, mode, more, &[]).passed();
    }
    with_session(path, more)
}

fn with_session(path: &str, more: &[&str]) -> (Ended, Timeline) {
    let ended = run(path, Mode::Session, more, &[]).passed();
    let timeline = ended.timeline();
    consistent(&timeline);
    assert_eq!(timeline.ending, Ending::Finished);
    (ended, timeline)
}

/// The sums that hold in every timeline, and nothing lost.
fn consistent(timeline: &Timeline) {
    let sums = |table: &Snapshot| {
        assert_eq!(table.rows.iter().map(|row| row.usable_bytes).sum::<u64>(), table.live_bytes);
        assert_eq!(table.rows.iter().map(|row| row.requested_bytes).sum::<u64>(), table.requested_bytes);
    };
    sums(&timeline.peak);
    sums(&timeline.at_exit.snapshot);
    timeline.marks.iter().filter_map(|mark| mark.snapshot.as_ref()).for_each(sums);
    for (index, &live) in timeline.series.live_bytes.iter().enumerate() {
        for dimension in [Dimension::Phase, Dimension::Layer, Dimension::Op, Dimension::Category] {
            let parts: u64 = timeline.series.by(dimension).values().map(|column| column[index]).sum();
            assert_eq!(parts, live, "{dimension:?} in sample {index}");
        }
        assert!(timeline.series.high_bytes[index] >= live);
    }
    let totals = &timeline.totals;
    let sum = |field: fn(&ScopeTotals) -> u64| totals.by_scope.iter().map(field).sum::<u64>();
    assert_eq!(sum(|scope| scope.allocations), totals.allocations);
    assert_eq!(sum(|scope| scope.frees), totals.frees);
    assert_eq!(sum(|scope| scope.allocated_bytes), totals.allocated_bytes);
    assert_eq!(timeline.tracker.dropped_events, 0);
    assert_eq!(timeline.tracker.losses, Vec::<String>::new());
}

/// What all scopes of a phase did: allocations, frees, allocated bytes.
fn did(timeline: &Timeline, phase: &str) -> (u64, u64, u64) {
    let of_phase = |scope: &&ScopeTotals| timeline.scopes[scope.scope as usize].phase == phase;
    timeline.totals.by_scope.iter().filter(of_phase).fold((0, 0, 0), |(allocations, frees, bytes), scope| {
        (allocations + scope.allocations, frees + scope.frees, bytes + scope.allocated_bytes)
    })
}

/// What a phase held in a table: requested bytes, usable bytes, blocks.
fn held(timeline: &Timeline, table: &Snapshot, phase: &str) -> (u64, u64, u64) {
    let of_phase = |row: &&Row| timeline.scopes[row.scope as usize].phase == phase;
    table.rows.iter().filter(of_phase).fold((0, 0, 0), |(requested, usable, blocks), row| {
        (requested + row.requested_bytes, usable + row.usable_bytes, blocks + row.blocks)
    })
}

/// A phase allocated something, freed as many blocks, and holds nothing.
fn came_to_nothing(timeline: &Timeline, phase: &str) {
    let (allocations, frees, _) = did(timeline, phase);
    assert!(allocations > 0, "{phase}");
    assert_eq!(allocations, frees, "{phase}");
    assert_eq!(held(timeline, &timeline.at_exit.snapshot, phase), (0, 0, 0), "{phase}");
}

/// The C library that `trap_library.rs` and `trap_stress.rs` load.
const LIBRARY: &str = r#"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static void *kept;
__attribute__((constructor)) static void begin(void) { kept = malloc(1000); free(malloc(100000)); }
__attribute__((destructor)) static void end(void) { free(kept); free(strndup("the end", 3) ? malloc(1) : 0); }

static int resolved_well(void) { return 1; }
static int resolved_badly(void) { return 0; }
static int (*resolve(void))(void) {
    void *block = malloc(100);
    int well = block != 0;
    free(block);
    return well ? resolved_well : resolved_badly;
}
int trap_resolved(void) __attribute__((ifunc("resolve")));

void *trap_make(size_t size) { void *block = malloc(size); memset(block, 1, size); return block; }
void trap_give(void *block) { free(realloc(block, 3000)); }

static jmp_buf place;
int trap_guarded(void (*work)(void)) {
    if (setjmp(place)) return 1;
    work();
    return 0;
}
void trap_jump(void) { longjmp(place, 1); }
"#;

/// The library, compiled once.
fn library() -> &'static str {
    static LIBRARY_AT: LazyLock<(TempDir, String)> = LazyLock::new(|| {
        let folder = folder();
        let (source, object) = (folder.path().join("trap.c"), folder.path().join("libtrap.so"));
        std::fs::write(&source, LIBRARY).expect("the source");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-fno-builtin", "-o"])
            .args([&object, &source])
            .status()
            .expect("a C compiler: install gcc or clang");
        assert!(status.success(), "cc: {status}");
        let path = tests::text(&object).to_owned();
        (folder, path)
    });
    &LIBRARY_AT.1
}

mod c_family {
    use super::*;

    #[test]
    fn semantics() {
        let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-c-semantics"), &[]);
        came_to_nothing(&timeline, "checks");
        came_to_nothing(&timeline, "failing");
        assert_eq!(timeline.tracker.foreign_frees, 0);
        // A realloc that failed leaves the block counted: its requested bytes are there, once.
        for size in [5, 1_000, 50_000, 20 << 20] {
            let (requested, usable, blocks) =
                held(&timeline, tables(&timeline, &format!("failed {size}"))[0], "failing");
            assert_eq!((requested, blocks), (size, 1));
            assert!(usable >= size);
        }
    }

    #[test]
    fn errno() {
        let path = env!("CARGO_BIN_EXE_victim-c-errno");
        let (_, timeline) = all_modes(path, &[]);
        assert_eq!(timeline.tracker.foreign_frees, 0);
        // Every freed page goes back at once.
        let eager = [("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")];
        MODES.into_iter().for_each(|mode| drop(run(path, mode, &[], &eager).passed()));
    }

    #[test]
    fn sizes() {
        let (ended, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-c-sizes"), &[]);
        for phase in ["one by one", "all at once", "resized", "layouts"] {
            came_to_nothing(&timeline, phase);
        }
        assert_eq!(did(&timeline, "one by one").0, 40_000);
        assert_eq!(did(&timeline, "all at once").0, 20_000);
        assert_eq!(did(&timeline, "resized").0, 1);
        // The sum of 1 to 20,000, and what the program itself made of it by malloc_usable_size.
        let table = tables(&timeline, "all live")[0];
        assert_eq!(held(&timeline, table, "all at once"), (200_010_000, ended.numbers("usable")[0], 20_000));
    }

    #[test]
    fn pages() {
        let path = env!("CARGO_BIN_EXE_victim-c-pages");
        let moves = |ended: &Ended| -> Vec<String> {
            ended.stdout.lines().filter(|line| line.starts_with("moves")).map(str::to_owned).collect()
        };
        let (tracked, off) = (run(path, Mode::Alone, &[], &[]).passed(), run(path, Mode::Off, &[], &[]).passed());
        assert_eq!(moves(&tracked), moves(&off), "blocks grow in place as they would untracked");
        let (_, timeline) = with_session(path, &[]);
        let (requested, usable, blocks) = held(&timeline, tables(&timeline, "six live")[0], "six");
        assert_eq!((requested, blocks), ((6 << 30) + 5, 1));
        assert_eq!(usable, (6 << 30) + 4096);
        assert_eq!(did(&timeline, "beyond 2 TB"), (513, 513, 513 << 32));
        assert!(timeline.totals.allocated_bytes > 2 << 40);
        assert!(timeline.peak.live_bytes >= 6 << 30 && timeline.peak.live_bytes < (6 << 30) + (256 << 20));
        for phase in ["zeroed", "six"] {
            came_to_nothing(&timeline, phase);
        }
    }
}

mod strangers {
    use super::*;

    /// With `ALLOC_TRACKER=off` a stranger's block goes to jemalloc, as it would without the tracker: not run.
    #[test]
    fn are_counted_and_handed_on() {
        let path = env!("CARGO_BIN_EXE_victim-trap-strangers");
        // A realloc and a free of what comes of it are two.
        for (trick, foreign) in [("free", 1), ("realloc", 2), ("zero", 1)] {
            run(path, Mode::Alone, &[trick], &[]).passed();
            let (_, timeline) = with_session(path, &[trick]);
            assert_eq!(timeline.tracker.foreign_frees, foreign, "{trick}");
        }
    }
}

mod threads {
    use super::*;

    #[test]
    fn blocks_outlive_their_thread_and_destructors_allocate() {
        let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-threads"), &[]);
        came_to_nothing(&timeline, "threads");
        // In a thread that is ending the scope cannot be entered any more in the later destructors, so these
        // allocations may be nobody's; what was counted in it was freed.
        let (allocations, frees, _) = did(&timeline, "end of thread");
        assert_eq!(allocations, frees);
        assert_eq!(timeline.tracker.foreign_frees, 0);
    }

    #[test]
    fn ten_thousand() {
        let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-many"), &["threads"]);
        came_to_nothing(&timeline, "short lives");
        assert!(did(&timeline, "short lives").0 >= 20_000);
        assert!(timeline.tracker.overhead_bytes < 8 << 20, "{:?}", timeline.tracker.overhead);
    }

    /// Two seeds; the queue's blocks come to nothing exactly.
    #[test]
    fn free_each_others_blocks() {
        for seed in ["1", "2"] {
            let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-queue"), &["threads", seed]);
            came_to_nothing(&timeline, "queue");
            assert!(did(&timeline, "queue").0 > 100_000);
            assert_eq!(timeline.tracker.foreign_frees, 0);
        }
    }

    /// One thread against the book that it keeps itself.
    #[test]
    fn the_peak_is_right_within_the_slack() {
        for seed in ["1", "2", "3"] {
            let (ended, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-queue"), &["model", seed]);
            let [live, peak, made, freed] = ended.numbers("model")[..] else { panic!("{}", ended.stdout) };
            let (_, usable, blocks) = held(&timeline, tables(&timeline, "all held")[0], "model");
            assert_eq!((usable, blocks), (live, made - freed), "seed {seed}");
            let slack = timeline.peak.slack_bytes;
            let before = tables(&timeline, "start")[0].live_bytes;
            let expected = before + peak;
            assert!(
                timeline.peak.live_bytes.abs_diff(expected) <= slack,
                "seed {seed}: {} {expected}",
                timeline.peak.live_bytes
            );
            let water = timeline.high_waters.iter().find(|water| water.name == "model").expect("the phase's peak");
            assert!(water.live_bytes.abs_diff(peak) <= slack, "seed {seed}: {} {peak}", water.live_bytes);
            came_to_nothing(&timeline, "model");
        }
    }
}

mod scopes {
    use super::*;

    /// Names and scopes beyond the tables' sizes go to `other scopes`, whose blocks are counted like all others.
    #[test]
    fn seventy_thousand() {
        let (ended, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-many"), &["scopes"]);
        assert!(timeline.tracker.overflowed_scopes > 0);
        let (allocations, frees, _) = did(&timeline, "many");
        let (others, others_freed, _) = did(&timeline, "other scopes");
        assert_eq!((allocations, others), (frees, others_freed));
        // Three blocks a scope: two of the trap's own and the name that it formats.
        assert!(allocations + others >= 140_070, "{allocations} {others}");
        let file = std::fs::metadata(ended.path()).expect("the timeline").len();
        assert!(file < 32 << 20, "{file} bytes");
    }

    #[test]
    fn deeper_than_the_stack() {
        let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-many"), &["depth"]);
        let exit = &timeline.at_exit.snapshot;
        let of = |phase: &str, layer: &str| -> u64 {
            let is = |row: &&Row| {
                let scope = &timeline.scopes[row.scope as usize];
                scope.phase == phase && scope.layer == layer
            };
            exit.rows.iter().filter(is).map(|row| row.requested_bytes).sum()
        };
        assert_eq!((of("deep", ""), of("after", "")), (777, 888));
        let (allocations, frees, _) = did(&timeline, "deep");
        assert_eq!(allocations, frees + 1);
    }
}

mod signals {
    use super::*;

    #[test]
    fn a_handler_that_allocates() {
        let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-signals"), &["raise"]);
        came_to_nothing(&timeline, "handler");
        came_to_nothing(&timeline, "raised in");
        assert!(did(&timeline, "handler").0 >= 15_000);
    }

    #[test]
    fn a_storm() {
        let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-signals"), &["storm"]);
        came_to_nothing(&timeline, "stormed");
    }
}

mod processes {
    use super::*;

    const FORK: &str = env!("CARGO_BIN_EXE_victim-trap-fork");

    fn forks(trick: &str) -> (Ended, Timeline) {
        let (ended, timeline) = all_modes(FORK, &[trick]);
        came_to_nothing(&timeline, "workers");
        assert_eq!(timeline.tracker.foreign_frees, 0);
        (ended, timeline)
    }

    #[test]
    fn handlers_of_fork_that_allocate() {
        forks("atfork");
    }

    /// The children leave nothing in the parent's folder: its file is there, its log is gone.
    #[test]
    fn children() {
        let (ended, _) = forks("children");
        assert!(!ended.log().exists());
    }

    /// The run in which children record themselves, and their timelines.
    fn recorded() -> &'static (Timeline, Vec<Timeline>) {
        static RECORDED: LazyLock<(Timeline, Vec<Timeline>)> = LazyLock::new(|| {
            let (ended, timeline) = forks("own");
            let files = std::fs::read_dir(ended.folder.path()).expect("the folder");
            let children = files
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.to_string_lossy().contains(".child-"))
                .map(|path| alloc_timeline::load(&path).expect("a child's timeline"))
                .collect();
            (timeline, children)
        });
        &RECORDED
    }

    /// A child's file has the child's own phase; the parent's has none.
    #[test]
    fn children_that_record_themselves() {
        let (parent, children) = recorded();
        assert_eq!(did(parent, "child"), (0, 0, 0));
        came_to_nothing(parent, "inherited");
        assert_eq!(children.len(), 5);
        for child in children {
            consistent(child);
            assert_eq!(held(child, &child.at_exit.snapshot, "child"), (55_000, 5_120 + 53_248, 2));
            assert!(child.peak.live_bytes < parent.peak.live_bytes + (64 << 20), "{}", child.peak.live_bytes);
        }
    }

    /// A child's blocks are its parent's to begin with: a hundred of 1,000 (1,024 usable) and one of 1 MiB.
    #[test]
    fn children_know_what_they_inherited() {
        for child in &recorded().1 {
            let exit = &child.at_exit.snapshot;
            assert_eq!(held(child, exit, "inherited"), (100_000 + (1 << 20), 102_400 + (1 << 20), 101));
        }
    }

    #[test]
    fn an_orphan() {
        forks("orphan");
    }

    #[test]
    fn other_programs() {
        forks("programs");
    }
}

mod endings {
    use super::*;

    const EXIT: &str = env!("CARGO_BIN_EXE_victim-trap-exit");

    /// Ends the trap in one way in all modes; gives the run with a session.
    fn ends(trick: &str, ended_so: impl Fn(ExitStatus) -> bool) -> Ended {
        let mut ended = MODES.map(|mode| {
            let ended = run(EXIT, mode, &[trick], &[("RUST_BACKTRACE", "0")]).held();
            assert!(ended_so(ended.status), "{}: {}\n{}", ended.what, ended.status, ended.stderr);
            Some(ended)
        });
        ended[1].take().expect("the run with a session")
    }

    /// The file is there, says how it ended and holds what it should and at most a little of the panic's own.
    fn wrote(ended: &Ended, ending: Ending, requested: u64) {
        let timeline = ended.timeline();
        consistent(&timeline);
        assert_eq!(timeline.ending, ending, "{}", ended.what);
        let left = held(&timeline, &timeline.at_exit.snapshot, "held").0;
        assert!(left >= requested && left < requested + 1_000, "{}: {left}", ended.what);
        assert!(!ended.log().exists(), "{}", ended.what);
    }

    #[test]
    fn by_exit() {
        wrote(&ends("return", |status| status.success()), Ending::Exit, 0);
        wrote(&ends("exit", |status| status.code() == Some(3)), Ending::Exit, 100_000);
        let in_thread = ends("exit in a thread", |status| status.code() == Some(3)).timeline();
        assert_eq!(in_thread.ending, Ending::Exit);
        consistent(&in_thread);
    }

    /// The panic drops what the block was held by first, then the phase, then the session.
    #[test]
    fn by_panic() {
        wrote(&ends("panic", |status| status.code() == Some(101)), Ending::Panic, 0);
    }

    /// Nobody gets to write the file; the log stays for `viewer recover`.
    #[test]
    fn without_a_word() {
        for trick in ["_exit", "quick_exit"] {
            let ended = ends(trick, |status| status.code() == Some(3));
            assert!(ended.log().exists() && !ended.path().exists(), "{trick}");
        }
        let ended = ends("abort", |status| status.signal() == Some(6));
        assert!(ended.log().exists() && !ended.path().exists());
    }

    #[test]
    fn where_nothing_can_be_written() {
        all_modes(env!("CARGO_BIN_EXE_victim-trap-folder"), &[]);
    }
}

mod libraries {
    use super::*;

    #[test]
    fn come_and_go() {
        let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-library"), &[library()]);
        // Four blocks in each of the fifty rounds in which the library is bound to libc.
        assert_eq!(timeline.tracker.foreign_frees, 4 * 50);
    }
}

mod stress {
    use super::*;

    const STRESS: &str = env!("CARGO_BIN_EXE_victim-trap-stress");

    #[test]
    fn all_at_once() {
        for seed in ["1", "2"] {
            let ended = run(STRESS, Mode::Session, &[seed, library()], &[]).passed();
            consistent(&ended.timeline());
        }
    }

    #[test]
    fn all_at_once_but_sessions() {
        for mode in [Mode::Alone, Mode::Off] {
            run(STRESS, mode, &["3", library()], &[("TRAP_STRESS_SECONDS", "3")]).passed();
        }
    }
}
