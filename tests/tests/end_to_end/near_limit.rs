//! Before memory runs out: a program that grows towards a limit says so in time, and leaves a copy of its timeline.
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use alloc_timeline::{Ending, NearLimit, Timeline};
use tests::{Ran, folder, run, text, viewer};

const MIB: u64 = 1 << 20;
/// By how many bytes the victim may grow where its address space is limited. The tracker reserves chunks of
/// 32 MiB for its shadow map in the same space, and how many depends on the addresses that the kernel chooses: one for every 256 MiB in
/// which blocks with fine tags lie, and for every 1 and 4 GiB with coarser ones. In 40 runs the victim got at least 313 MiB.
const GROWTH: u64 = 512 * MIB;

fn victim(out: &Path, arguments: [&str; 2]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_victim-near-limit"));
    command.arg(out).args(arguments).env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_NEAR_LIMIT");
    command
}

/// The lines that the tracker printed.
fn said(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.starts_with("alloc-tracker: ")).collect()
}

fn load(path: &Path) -> Timeline {
    alloc_timeline::load(path).unwrap_or_else(|error| panic!("{error}"))
}

/// The greedy layer holds most and grows; the limit leaves less than the least room of `limit_bytes / 4` or 64 MiB.
fn is_right(near: &NearLimit, limit: &str) {
    assert!(near.limit.contains(limit), "{near:?}");
    assert!(near.room_bytes < (near.limit_bytes / 4).min(64 * MIB).max(near.limit_bytes / 20), "{near:?}");
    let name = |holder: &Option<alloc_timeline::Holder>| holder.as_ref().map(|holder| holder.name.clone());
    assert_eq!((name(&near.layer).as_deref(), name(&near.phase).as_deref()), (Some("greedy"), Some("forward")));
    let growing = near.growing.as_ref().expect("growth");
    assert_eq!(growing.owner, "greedy in forward");
    assert!(growing.bytes > MIB, "{near:?}");
}

/// Works wherever there is `setrlimit`. Below 64 MiB, or a twentieth of all its address space, the tracker speaks up.
#[test]
fn address_space_runs_out() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let ran = run(&mut victim(&out, ["address-space", &GROWTH.to_string()]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("refused after "), "the limit was met: {}", ran.stdout);
    let lines = said(&ran.stderr);
    println!("{}", lines.join("\n"));
    assert!((1..=5).contains(&lines.len()), "{}", ran.stderr);
    let timeline = load(&out);
    assert_eq!(timeline.near_limits.len(), lines.len());
    for (near, line) in timeline.near_limits.iter().zip(&lines) {
        is_right(near, "RLIMIT_AS");
        assert!(line.starts_with(&format!("alloc-tracker: {near}; see ")), "{line}\n{near}");
    }
    let halves = timeline.near_limits.windows(2).all(|pair| pair[1].room_bytes <= pair[0].room_bytes / 2);
    assert!(halves, "{:?}", timeline.near_limits);
    let dump = load(&folder.path().join("run.near-limit-1.timeline.json"));
    assert_eq!((dump.ending, dump.near_limits.as_slice()), (Ending::Dumped, &timeline.near_limits[..1]));
    // The copy is from before the end: the program grew afterwards.
    assert!(dump.peak.live_bytes < timeline.peak.live_bytes);
    let summary = viewer(&["summary", text(&out)]);
    // The summary's sentences are wrapped to the terminal's width.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let last = timeline.near_limits.last().expect("one").to_string();
    assert!(words(&summary.stdout).contains(&words(&last)), "{last}\n{}", summary.stdout);
}

#[test]
fn it_can_be_switched_off_and_set() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let arguments = ["address-space", &GROWTH.to_string()];
    let ran = run(victim(&out, arguments).env("ALLOC_TRACKER_NEAR_LIMIT", "off"));
    assert_eq!((ran.code, said(&ran.stderr).len()), (Some(0), 0), "{}", ran.stderr);
    assert!(load(&out).near_limits.is_empty());
    let ran = run(victim(&out, arguments).env("ALLOC_TRACKER_NEAR_LIMIT", "32MiB"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timeline = load(&out);
    assert!(timeline.near_limits.first().is_some_and(|near| near.room_bytes < 32 * MIB), "{}", ran.stderr);
    let ran = run(victim(&out, arguments).env("ALLOC_TRACKER_NEAR_LIMIT", "soon"));
    let losses = load(&out).tracker.losses;
    assert!(losses.iter().any(|loss| loss.contains("ALLOC_TRACKER_NEAR_LIMIT: 'soon'")), "{losses:?} {}", ran.stderr);
}

/// Somebody who never reads stderr must not stop the program: the line is left out.
#[test]
fn a_full_pipe_does_not_stop_the_program() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // SAFETY: fcntl on an open pipe's end changes its flags and touches no memory.
    unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&writer), libc::F_SETFL, libc::O_NONBLOCK) };
    let mut full = writer.try_clone().expect("the same pipe");
    while std::io::Write::write(&mut full, &[0; 4096]).is_ok() {}
    // SAFETY: as above. The victim gets an end that waits.
    unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&writer), libc::F_SETFL, 0) };
    let mut command = victim(&out, ["address-space", &GROWTH.to_string()]);
    let ended = command.stderr(writer).stdout(std::process::Stdio::null()).status().expect("it runs");
    assert!(ended.success(), "{ended:?}");
    drop(reader);
    assert!(!load(&out).near_limits.is_empty(), "the timeline says it all the same");
}

/// A control group with a limit, made for one test and removed after it.
struct Group(PathBuf);

impl Group {
    /// Makes a group below this process's own, or below the root of its hierarchy. The error says why it cannot be.
    fn new(limit: u64) -> Result<Group, String> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let first = groups
            .lines()
            .find(|line| line.split(':').nth(1).is_some_and(|names| names.split(',').any(|name| name == "memory")));
        let second = groups.lines().find(|line| line.starts_with("0::"));
        let line = first.or(second).ok_or("this process is in no control group")?;
        let path = line.splitn(3, ':').nth(2).unwrap_or_default().trim_start_matches('/');
        let (root, file) = match first {
            Some(_) => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            None => ("/sys/fs/cgroup", "memory.max"),
        };
        let name = format!("near-limit-test-{}", std::process::id());
        let mut reason = String::new();
        for parent in [Path::new(root).join(path), PathBuf::from(root)] {
            let folder = parent.join(&name);
            if let Err(error) = std::fs::create_dir(&folder) {
                reason = format!("{}: {error}", folder.display());
                continue;
            }
            let group = Group(folder);
            match std::fs::write(group.0.join(file), limit.to_string()) {
                Ok(()) => {
                    // Without swap the limit is one. A machine without swap has no such file, or refuses it.
                    let _ = std::fs::write(group.0.join("memory.swap.max"), "0");
                    return Ok(group);
                }
                Err(error) => reason = format!("{}: {error}", group.0.join(file).display()),
            }
        }
        Err(reason)
    }

    /// Runs `command` in the group.
    fn run(&self, command: &mut Command) -> (Ran, Option<i32>) {
        let list = self.0.join("cgroup.procs");
        let list = std::ffi::CString::new(list.to_str().expect("UTF-8")).expect("no NUL");
        let join = move || {
            // SAFETY: open, write and close may be called between fork and exec; the path is a C string made before.
            let written = unsafe {
                let file = libc::open(list.as_ptr(), libc::O_WRONLY);
                let written = libc::write(file, c"0".as_ptr().cast(), 1);
                libc::close(file);
                written
            };
            if written == 1 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        // SAFETY: the function only makes the system calls above.
        let output = unsafe { command.pre_exec(join) }.output().expect("it runs");
        let signal = output.status.signal();
        (output.into(), signal)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel may need a moment to let go of a process that has ended.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// The kernel kills the program with SIGKILL, and nobody can finish the file. The line and the copy are there, and
/// `viewer recover` says the same and names the layer.
#[test]
fn a_killed_group_says_who_broke_its_limit() {
    let group = match Group::new(128 * MIB) {
        Ok(group) => group,
        Err(reason) => {
            println!("SKIPPED: no control group with a limit can be made here: {reason}");
            return;
        }
    };
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let (ran, signal) = group.run(&mut victim(&out, ["group", "0"]));
    assert_eq!(signal, Some(libc::SIGKILL), "{}{}", ran.stdout, ran.stderr);
    let lines = said(&ran.stderr);
    println!("{}", lines.join("\n"));
    assert!((1..=5).contains(&lines.len()), "{}", ran.stderr);
    let dump = load(&folder.path().join("run.near-limit-1.timeline.json"));
    is_right(&dump.near_limits[0], text(&group.0));
    assert_eq!(dump.near_limits[0].limit_bytes, 128 * MIB);

    let recovered = folder.path().join("recovered.timeline.json");
    let answer = viewer(&["recover", text(&folder.path().join("run.timeline.json.log")), "-o", text(&recovered)]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    println!("{}", answer.stdout);
    let timeline = load(&recovered);
    assert_eq!((timeline.ending, timeline.near_limits.len()), (Ending::Recovered, lines.len()));
    let last = timeline.near_limits.last().expect("one").to_string();
    assert!(
        answer.stdout.contains(&last) && lines.last().is_some_and(|line| line.contains(&last)),
        "{}",
        answer.stdout
    );
    assert!(answer.stdout.contains("layer greedy broke the limit"), "{}", answer.stdout);
    // The figure and the columns are of the same group.
    let figure = timeline.series.probes.get("cgroup_limit").expect("the column");
    assert_eq!(figure.iter().flatten().max(), Some(&(128 * MIB)));
    assert!(timeline.series.probes.contains_key("cgroup_current"));
}
