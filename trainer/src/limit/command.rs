//! A command inside of a limit: started there, watched, and its end.
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use procfs::process::Process;

use super::Limit;
use super::counters::Counters;
use super::group::Holder;
use crate::interrupt;

/// Time between two readings while the command runs.
const INTERVAL: Duration = Duration::from_millis(5);

/// Where a command's stdout goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// Where this program's goes.
    Own,
    /// To stderr, so that it does not mix with what this program prints.
    Stderr,
    /// Nowhere.
    Null,
}

/// How a command ended, and what was counted of it.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) wall: Duration,
    /// At the end.
    pub(crate) counters: Counters,
    /// Most bytes at any reading that could not be reclaimed: anonymous memory and the kernel's own. Without a control
    /// group, the process's anonymous resident bytes.
    pub(crate) unreclaimable_peak_bytes: Option<u64>,
    /// Most bytes of files that the process had resident at any reading.
    pub(crate) file_peak_bytes: Option<u64>,
}

impl Ran {
    /// What a shell would make of the status: 128 and the signal's number for a command that a signal ended.
    pub(crate) fn exit_code(&self) -> u8 {
        let code = self.status.code().or_else(|| Some(128 + self.status.signal()?));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
    }

    /// Whether the limit ended it: whether the kernel killed it for lack of memory. `None` where it is not known: without a control group,
    /// a command that fails may have got no memory, or have failed for a reason of its own.
    pub(crate) fn broke_the_limit(&self, limit: Limit) -> Option<bool> {
        let is_over = limit.0.is_none() || self.status.success() || interrupt::requested();
        let no_group = if is_over { Some(false) } else { None };
        self.counters.oom_kills.map_or(no_group, |kills| Some(kills > 0))
    }
}

/// Runs `command` inside of `holder` to its end, with `variables` in its environment besides those of this program.
pub(crate) fn run(
    command: &[OsString],
    variables: &[(&str, String)],
    holder: &Holder,
    limit: Limit,
    stdout: Stdout,
) -> Result<Ran> {
    let Some((program, arguments)) = command.split_first() else {
        anyhow::bail!("there is no command; give one behind --")
    };
    let mut command = Command::new(program);
    // Its process group is its own, so that Ctrl-C reaches it once, through this process. Whoever reads from the
    // terminal out of another process group is stopped, so it gets no terminal to read from.
    command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value))).process_group(0);
    if std::io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    match stdout {
        Stdout::Own => {}
        Stdout::Stderr => {
            command.stdout(std::io::stderr());
        }
        Stdout::Null => {
            command.stdout(Stdio::null());
        }
    }
    let door = match holder {
        Holder::Group(group) => Some(group.door().context("the control group cannot be joined")?),
        Holder::AddressSpace(_) => None,
    };
    let joined = door.as_ref().map(AsRawFd::as_raw_fd);
    let address_space = if joined.is_none() { limit.0 } else { None };
    // SAFETY: between fork and exec the closure makes system calls alone and allocates nothing.
    unsafe { command.pre_exec(move || enter(joined, address_space)) };
    let began = Instant::now();
    let mut child = command.spawn().with_context(|| {
        format!(
            "{}: cannot be started; check the command behind --, and whether the limit is enough to start it",
            program.display()
        )
    })?;
    interrupt::set_child(child.id() as i32);
    let watched = watch(&mut child, holder);
    interrupt::set_child(0);
    let (status, unreclaimable_peak_bytes, file_peak_bytes) = watched?;
    Ok(Ran { status, wall: began.elapsed(), counters: holder.counters(), unreclaimable_peak_bytes, file_peak_bytes })
}

/// What the child does to itself before it becomes the command.
fn enter(door: Option<i32>, address_space: Option<u64>) -> std::io::Result<()> {
    let check = |result: libc::c_int| if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: the arguments are numbers. The command is to end with this program, even if that is killed.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    if let Some(door) = door {
        // SAFETY: one byte of a constant is read; the file is open in the parent while it waits for the exec. To a
        // control group, 0 is the process that writes.
        let written = unsafe { libc::write(door, c"0".as_ptr().cast(), 1) };
        check(if written == 1 { 0 } else { -1 })?;
    }
    if let Some(bytes) = address_space {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: the pointer is that of a live value.
        check(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) })?;
    }
    Ok(())
}

/// Waits for the child's end, and reads meanwhile what it needs.
fn watch(child: &mut Child, holder: &Holder) -> Result<(ExitStatus, Option<u64>, Option<u64>)> {
    let (mut unreclaimable, mut files) = (None, None);
    let process = Process::new(child.id() as i32).ok();
    loop {
        if let Some(status) = child.try_wait().context("the command was lost")? {
            return Ok((status, unreclaimable, files));
        }
        let status = process.as_ref().and_then(|process| process.status().ok());
        let anonymous = status.as_ref().and_then(|status| Some(status.rssanon? << 10));
        let file = status.as_ref().and_then(|status| Some((status.rssfile? + status.rssshmem?) << 10));
        unreclaimable = unreclaimable.max(holder.counters().unreclaimable_bytes().or(anonymous));
        files = files.max(file);
        std::thread::sleep(INTERVAL);
    }
}
