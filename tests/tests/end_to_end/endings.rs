//! The recording survives every end of a run: panic, `exit`, drop, Ctrl-C, a full disk, SIGKILL.
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use alloc_timeline::{Category, Ending, Timeline};
use tests::{Config, DATA, Ran, binary, folder, rows, run, text, victim, viewer};

/// Far more steps than a test waits for.
const FOREVER: u64 = 100_000;

/// Runs the victim to the ending `how`: its exit code, how the timeline says it ended. The Vec that it made in
/// `forward`, 1,000,000 bytes, must be in the file's peak.
fn ended(how: &str) -> (Option<i32>, Ending) {
    let (ran, timeline) = victim(env!("CARGO_BIN_EXE_victim-ending"), &[how]);
    let forward: Vec<u64> = rows(&timeline, &timeline.peak)
        .filter(|(scope, _)| scope.phase == "forward")
        .map(|(_, row)| row.requested_bytes)
        .collect();
    assert_eq!(forward, [1_000_000], "{how}");
    (ran.code, timeline.ending)
}

#[test]
fn finish_and_drop_are_finished() {
    assert_eq!(ended("finish"), (Some(0), Ending::Finished));
    assert_eq!(ended("drop"), (Some(0), Ending::Finished));
    assert_eq!(ended("return"), (Some(0), Ending::Finished));
}

/// 101 is the exit code of a Rust panic.
#[test]
fn a_panic_that_unwinds_through_the_session() {
    assert_eq!(ended("panic"), (Some(101), Ending::Panic));
}

/// `exit` drops nothing, and neither does `forget`: the file is written all the same, as the process ends.
#[test]
fn exit_with_the_session_open() {
    assert_eq!(ended("exit"), (Some(7), Ending::Exit));
    assert_eq!(ended("leak"), (Some(0), Ending::Exit));
}

/// The handler interrupts a thread that has begun to write an event, or that reads events, or that is in the allocator, and calls `exit`. The
/// process ends, with its timeline or, where the recorder's threads wait for what this thread holds, its log.
#[test]
fn exit_in_a_signal_handler() {
    let folder = folder();
    for round in 0..10 {
        let out = folder.path().join(format!("{round}.timeline.json"));
        let ran = run(Command::new(env!("CARGO_BIN_EXE_victim-ending")).arg(&out).arg("handler"));
        assert_eq!(ran.code, Some(22), "{}", ran.stderr);
        assert!(out.exists() || out.with_extension("json.log").exists(), "round {round}");
    }
}

/// A trainer that has done its third step of very many, and the rest of its stdout.
fn training(config: Config, out: &Path) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child =
        config.command(out).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the trainer starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let third = lines.by_ref().map_while(Result::ok).find(|line| line.starts_with("step 3/"));
    assert!(third.is_some(), "it trains until it is told not to");
    (child, lines)
}

fn send(child: &Child, signal: i32) {
    // SAFETY: kill takes two numbers and touches no memory; the child has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

/// Waits until the step that was reported is in the log. A tick makes the log grow at least once and at most twice, so what
/// makes it grow for the third time is a tick that began after this call.
fn settle(log: &Path) {
    let length = || std::fs::metadata(log).expect("the log").len();
    for _ in 0..3 {
        let before = length();
        while length() == before {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// 130 is what shells make of SIGINT: 128 + 2.
#[test]
fn ctrl_c_finishes_the_timeline() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let (child, lines) = training(Config::train("resnet18", 2, 64, FOREVER), &out);
    send(&child, libc::SIGINT);
    drop(lines);
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let timeline = alloc_timeline::load(&out).expect("a whole timeline");
    assert_eq!(timeline.ending, Ending::Interrupted);
    assert!((3..FOREVER as usize).contains(&timeline.steps.len()), "{} steps", timeline.steps.len());
    assert!(!out.with_extension("json.log").exists(), "the log goes when the timeline is there");
}

/// Parameters, momentum, images, and what a step works with at its peak, which are the same in every run from the
/// second step on. Activations, gradients and workspace are one sum: which of the three a block is, the recorder learns
/// when its operator ends, and the kill may come before that.
fn tensors(timeline: &Timeline) -> [u64; 4] {
    let of = |categories: &[Category]| {
        let rows = timeline.peak.rows.iter().filter(|row| categories.contains(&row.category));
        rows.map(|row| row.usable_bytes).sum()
    };
    [
        of(&[Category::Parameter]),
        of(&[Category::OptimizerState]),
        of(&[Category::Input]),
        of(&[Category::Activation, Category::Gradient, Category::Workspace]),
    ]
}

/// Nobody can finish a file after SIGKILL, nor under the OOM killer. The log that is left makes a timeline with the
/// peak so far: that of the third step, which a run of three steps has too.
#[test]
fn the_log_of_a_killed_run_can_be_recovered() {
    let config = Config::train("resnet18", 2, 64, FOREVER);
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let (mut child, mut lines) = training(config, &out);
    // On a busy machine, the tick that writes the third step may come late, and may write in many pieces.
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("step 5/")), "it goes on training");
    settle(&folder.path().join("run.timeline.json.log"));
    child.kill().expect("it still runs");
    child.wait().expect("it is dead");
    assert!(!out.exists(), "nobody wrote it");
    let log = folder.path().join("run.timeline.json.log");
    let recovered = folder.path().join("recovered.timeline.json");
    let ran = viewer(&["recover", text(&log), "-o", text(&recovered)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);

    let timeline = alloc_timeline::load(&recovered).expect("a whole timeline");
    assert_eq!(timeline.ending, Ending::Recovered);
    assert!(timeline.steps.len() >= 3, "{} steps", timeline.steps.len());
    let highest = timeline.series.live_bytes.iter().max().copied().unwrap_or_default();
    assert!(timeline.peak.live_bytes >= highest, "{} below the sample of {highest}", timeline.peak.live_bytes);
    let (found, expected) = (tensors(&timeline), tensors(Config { steps: 3, ..config }.run()));
    assert_eq!(found[..3], expected[..3]);
    // The peak is the highest of what threads have published. A moment with 384 bytes less of these comes within some hundred bytes of it,
    // and which of the two it is depends on when threads publish their small blocks: up to 64 KiB of a thread are not published.
    assert!(found[3].abs_diff(expected[3]) < 64 << 10, "{found:?}, {expected:?}");
    assert_eq!(viewer(&["summary", text(&recovered)]).code, Some(0), "and it can be read");
}

/// Every step was done, and stderr says what was lost: exit code 2 when there is no timeline, 0 when only the log ended
/// early and the timeline is whole.
fn goes_on(ran: &Ran, steps: u64, out: &Path) {
    assert!(ran.stdout.contains(&format!("step {steps}/{steps}")), "training goes on: {}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    match alloc_timeline::load(out) {
        Ok(timeline) => {
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            assert!(!timeline.tracker.losses.is_empty(), "the timeline says that the log ended early");
            assert!(ran.stderr.contains("the log") && ran.stderr.contains("ends early"), "{}", ran.stderr);
        }
        Err(_) => {
            assert_eq!(ran.code, Some(2), "{}", ran.stderr);
            assert!(ran.stderr.contains("the timeline could not be written"), "{}", ran.stderr);
            assert!(!out.exists(), "no half of a file");
        }
    }
}

/// No file may grow beyond 64 KiB, the signal that says so is ignored: writes fail as they do on a full disk, with
/// EFBIG in place of ENOSPC. Both the log and the timeline are larger.
#[test]
fn files_that_cannot_grow() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let mut command = Config::train("resnet18", 2, 64, 4).command(&out);
    // SAFETY: setrlimit and signal are safe to call between fork and exec, and touch nothing but the limit given.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 64 << 10, rlim_max: 64 << 10 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            Ok(())
        });
    }
    let ran = run(&mut command);
    goes_on(&ran, 4, &out);
    assert!(ran.stderr.contains("File too large"), "the reason: {}", ran.stderr);
    let left = std::fs::metadata(folder.path().join("run.timeline.json.log")).expect("what fitted is kept");
    assert!((1..=64 << 10).contains(&left.len()), "{} bytes", left.len());
}

/// A file system of 64 KiB, in a mount namespace of the trainer's own: it is gone with the process.
#[test]
fn a_disk_that_is_full() {
    let folder = folder();
    let disk = text(folder.path());
    let mount = format!("mount -t tmpfs -o size=64k none '{disk}'");
    let private = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    match private(&mount).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => return println!("SKIPPED: no mount here: {}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => return println!("SKIPPED: unshare cannot be run: {error}"),
    }
    let out = folder.path().join("run.timeline.json");
    let trainer = binary("trainer");
    let script = format!(
        "{mount} && '{}' train --model resnet18 --batch 2 --image-size 64 --steps 4 --threads 1 --data '{DATA}' \
         --out '{}'; code=$?; ls '{disk}'; exit $code",
        text(&trainer),
        text(&out)
    );
    let ran = run(private(&script).env("OMP_NUM_THREADS", "1").env_remove("ALLOC_TRACKER"));
    goes_on(&ran, 4, &out);
    assert!(ran.stderr.contains("No space left on device"), "the reason: {}", ran.stderr);
    assert!(ran.stdout.ends_with("run.timeline.json.log\n"), "the log that fitted is all that is left: {}", ran.stdout);
}

/// A program that was killed is run again, with the same name for its timeline. Nobody has asked to have the killed run's log removed, and
/// that of one that runs is not touched.
#[test]
fn the_log_of_an_earlier_run_stays() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let log = folder.path().join("run.timeline.json.log");
    let again = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_victim-scopes"));
        run(command.arg(&out).arg("leaked").env_remove("ALLOC_TRACKER"))
    };
    fs::write(&log, "the killed run's\n").expect("a file");
    let ran = again();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let aside = folder.path().join("run.earlier-1.timeline.json.log");
    assert_eq!(fs::read_to_string(&aside).expect("the log"), "the killed run's\n");
    assert!(ran.stderr.contains(&format!("that was killed is now {}", aside.display())), "{}", ran.stderr);
    alloc_timeline::load(&out).expect("the second run's timeline");

    fs::write(&log, "the running one's\n").expect("a file");
    let running = fs::File::open(&log).expect("the log");
    running.lock().expect("a file system with locks");
    let ran = again();
    assert!(ran.code != Some(0) && ran.stderr.contains("a process that runs is recording it"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&log).expect("the log"), "the running one's\n");
}
