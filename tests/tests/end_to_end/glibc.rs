//! glibc's own tests of malloc, compiled from Debian's `glibc-source` and run over glibc, over Debian's jemalloc, and
//! under the tracker. The table `docs/GLIBC_TESTS.md` has the results; this test compares it with what it finds.
//!
//! The programs are C, so the tracker is loaded by LD_PRELOAD; `glibc/stand_in.h` and `glibc/driver.c` stand for the
//! parts of glibc's test support that they need. `cargo xtask foreign` fetches the sources.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

#[path = "glibc/cases.rs"]
mod cases;

use cases::{APART, CASES, Case};
use tests::{folder, text};

const FOREIGN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/foreign");
const STAND_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/glibc");
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/GLIBC_TESTS.md");
/// The version that the table is of.
const VERSION: &str = "2.36";
/// Most cases sleep or hang, so more run at a time than there are processors.
const AT_A_TIME: usize = 6;

/// Headers that the tests include, all of which are the stand-in.
const HEADERS: [&str; 10] = [
    "support/check.h",
    "support/support.h",
    "support/test-driver.h",
    "support/temp_file.h",
    "support/xthread.h",
    "support/xunistd.h",
    "support/xsignal.h",
    "libc-diag.h",
    "array_length.h",
    "malloc-size.h",
];

/// The allocator over which a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Glibc,
    Jemalloc,
    Off,
    On,
}

const ALL: [Over; 4] = [Over::Glibc, Over::Jemalloc, Over::Off, Over::On];

/// The folder of glibc's malloc, if somebody fetched it: its version and path.
fn sources() -> Option<(String, PathBuf)> {
    fs::read_dir(FOREIGN).ok()?.find_map(|entry| {
        let path = entry.ok()?.path();
        let version = path.file_name()?.to_str()?.strip_prefix("glibc-")?.to_owned();
        Some((version, path.join("malloc")))
    })
}

/// `liballoc_interpose.so`, which cargo builds for the workspace's root or as a dependency.
fn tracker() -> PathBuf {
    let test = std::env::current_exe().expect("this test's own path");
    let release = test.ancestors().find(|folder| folder.ends_with("release")).expect("the release profile");
    let places = ["deps/liballoc_interpose.so", "liballoc_interpose.so"].map(|name| release.join(name));
    let found = places.into_iter().find(|path| path.exists());
    found.expect("build it with: cargo build --release -p alloc-interpose")
}

/// Lays out headers that lead to the stand-in, and the two drivers.
fn lay_out(folder: &Path) {
    let write = |name: &str, content: String| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    };
    for header in HEADERS {
        write(&format!("include/{header}"), format!("#include \"{STAND_IN}/stand_in.h\"\n"));
    }
    for (name, run) in [("include/support/test-driver.c", "do_test ()"), ("test-skeleton.c", "TEST_FUNCTION")] {
        write(
            name,
            format!("#include \"{STAND_IN}/stand_in.h\"\n#define RUN {run}\n#include \"{STAND_IN}/driver.c\"\n"),
        );
    }
}

/// Compiles a case; the path of the program.
fn compile(case: &Case, sources: &Path, folder: &Path) -> PathBuf {
    let mut source = fs::read_to_string(sources.join(case.source)).expect("the source");
    for (from, to) in case.changes {
        assert!(source.contains(from), "{}: the source has no longer {from:?}", case.name);
        source = source.replacen(from, to, 1);
    }
    let name = case.name.replace([' ', ','], "-");
    let (changed, program) = (folder.join(format!("{name}.c")), folder.join(&name));
    fs::write(&changed, source).expect("the source");
    let mut compiler = Command::new("cc");
    // Without -fno-builtin the compiler takes pairs of malloc and free away.
    compiler.args(["-w", "-O2", "-fno-builtin", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", "-I"]);
    compiler.arg(folder.join("include")).arg("-I").arg(sources).arg("-o").arg(&program).arg(&changed);
    compiler.arg(format!("-DLIMIT={}", case.limit)).args(case.with.iter().map(|name| sources.join(name)));
    let output = compiler.output().expect("a C compiler");
    assert!(output.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&output.stderr));
    program
}

/// Whether the case passes there, and the end of what it said.
fn run(case: &Case, program: &Path, over: Over) -> (bool, String) {
    let folder = folder();
    let mut command = Command::new(program);
    command.current_dir(&folder).stdin(Stdio::null()).env_remove("ALLOC_TRACKER").process_group(0);
    match over {
        Over::Glibc => {}
        Over::Jemalloc => {
            command.env("LD_PRELOAD", format!("{FOREIGN}/libjemalloc.so.2")).env("MALLOC_CONF", case.jemalloc);
        }
        Over::Off | Over::On => {
            command.env("LD_PRELOAD", tracker()).env("_RJEM_MALLOC_CONF", case.jemalloc);
            command.envs((over == Over::Off).then_some(("ALLOC_TRACKER", "off")));
        }
    }
    let said = folder.path().join("said");
    let file = fs::File::create(&said).expect("a file");
    command.stdout(file.try_clone().expect("a file")).stderr(file);
    let mut child = command.spawn().expect("a program that was compiled just now");
    // The program ends by itself, because driver.c sets an alarm.
    let status = child.wait().expect("a child");
    // The processes that it forked may wait for it for ever, so they are killed.
    let mut kill = Command::new("kill");
    let _ = kill.args(["-KILL", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
    let said = String::from_utf8_lossy(&fs::read(&said).expect("what it said")).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    (status.success(), lines[lines.len().saturating_sub(3)..].join(" | "))
}

/// Runs every case over everything that it is for: results in the order of the cases.
fn run_all(programs: &[PathBuf]) -> Vec<[Option<bool>; 4]> {
    let results = Mutex::new(vec![[None; 4]; CASES.len()]);
    // The cases that take long come first.
    let mut jobs: Vec<(usize, Over)> = Vec::new();
    for (index, case) in CASES.iter().enumerate() {
        jobs.extend(ALL.iter().filter(|&&over| case.is_for(over == Over::Glibc)).map(|&over| (index, over)));
    }
    jobs.sort_by_key(|&(index, _)| CASES[index].slow);
    let jobs = Mutex::new(jobs);
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let Some((index, over)) = jobs.lock().expect("no panic").pop() else { return };
                    let case = &CASES[index];
                    let (passed, said) = run(case, &programs[index], over);
                    println!("{} over {over:?}: {} {said}", case.name, if passed { "passes" } else { "FAILS" });
                    results.lock().expect("no panic")[index][over as usize] = Some(passed);
                }
            });
        }
    });
    results.into_inner().expect("no panic")
}

/// A case's row of the table.
fn row(case: &Case, result: &[Option<bool>; 4]) -> String {
    let cell = |over: Over| match result[over as usize] {
        None => "-",
        Some(_) if case.unsteady && over != Over::Glibc => "unsteady",
        Some(true) => "passes",
        Some(false) => "fails",
    };
    format!("| {} | {} | {} |\n", case.name, ALL.map(cell).join(" | "), case.remark)
}

/// Runs the cases whose rows are not in `told` again, up to twice and one after the other. While all cases run at once,
/// some do not end in time; and the cases that hang over jemalloc hang nearly always, but not always.
fn run_again(programs: &[PathBuf], told: &str, results: &mut [[Option<bool>; 4]]) {
    for ((case, program), result) in CASES.iter().zip(programs).zip(results) {
        let mut rounds = 0;
        while !told.contains(&row(case, result)) && rounds < 2 {
            rounds += 1;
            println!("{}: not as the table says, once more", case.name);
            for over in ALL.into_iter().filter(|&over| case.is_for(over == Over::Glibc)) {
                let (passed, said) = run(case, program, over);
                println!("{} over {over:?}: {} {said}", case.name, if passed { "passes" } else { "FAILS" });
                result[over as usize] = Some(passed);
            }
        }
    }
}

fn table(results: &[[Option<bool>; 4]]) -> String {
    let mut out = cases::INTRODUCTION.replace("VERSION", VERSION);
    out.push_str("| test | glibc | jemalloc | tracker off | tracker on | remark |\n|---|---|---|---|---|---|\n");
    CASES.iter().zip(results).for_each(|(case, result)| out.push_str(&row(case, result)));
    out.push_str("\n## Those that do not apply\n\n| test | why |\n|---|---|\n");
    for (name, why) in APART {
        let _ = writeln!(out, "| {name} | {why} |");
    }
    out
}

/// Every test of the package is either run or has a reason why not.
fn hold_complete(sources: &Path) {
    let files =
        fs::read_dir(sources).expect("the sources").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let found: BTreeSet<String> =
        files.filter(|name| name.starts_with("tst-") && name.ends_with(".c") || name == "mallocbug.c").collect();
    let run = CASES.iter().map(|case| case.source.to_owned());
    let told: BTreeSet<String> = run.chain(APART.iter().map(|(name, _)| format!("{name}.c"))).collect();
    assert_eq!(found, told, "left: the tests in glibc-source; right: those that the table tells of");
}

#[test]
fn glibcs_own_tests_end_as_the_table_says() {
    let Some((version, sources)) = sources() else {
        return println!(
            "SKIPPED: glibc's tests: no sources in target/foreign; `cargo xtask foreign` fetches them (Debian)"
        );
    };
    let folder = folder();
    lay_out(folder.path());
    let programs: Vec<PathBuf> = CASES.iter().map(|case| compile(case, &sources, folder.path())).collect();
    let mut results = run_all(&programs);
    let told = fs::read_to_string(TABLE).unwrap_or_default();
    if version == VERSION {
        run_again(&programs, &told, &mut results);
    }
    // Whatever the version: what passes over glibc passes under the tracker, or the table says why not.
    for (case, result) in CASES.iter().zip(&results) {
        let unexplained = result[0] == Some(true) && (result[2] == Some(false) || result[3] == Some(false));
        assert!(!unexplained || !case.remark.is_empty(), "{} fails under the tracker: {result:?}", case.name);
    }
    if version != VERSION {
        return println!("SKIPPED: the table of glibc's tests is of version {VERSION}, and this is {version}");
    }
    hold_complete(&sources);
    let fresh = table(&results);
    if told != fresh {
        let path = Path::new(FOREIGN).join("GLIBC_TESTS.md");
        fs::write(&path, &fresh).expect("the table");
        panic!("docs/GLIBC_TESTS.md differs from what was found, which lies in {}:\n{fresh}", text(&path));
    }
}
