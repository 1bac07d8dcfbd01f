//! Signals that are meant for the recorded program. Whoever ends or wakes this process means the program that it started; so
//! the signals are passed on, and this process lives until the program has ended.
//!
//! A terminal sends Ctrl-C to all of its processes, so the program has it already: only what a process has sent is passed
//! on. Handlers are not inherited through exec, so the program gets each signal as if it had been started directly.
use std::ffi::{c_int, c_void};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// What is passed on.
const SIGNALS: [c_int; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGCONT,
    libc::SIGWINCH,
];

/// The program's process; 0 before it has started and after it has ended.
static PROGRAM: AtomicI32 = AtomicI32::new(0);
/// The last signal that came before the program had started; 0 for none.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Whether this process was started with SIGPIPE ignored. Rust ignores it before `main`, and starts programs with the default.
static IGNORES_PIPES: AtomicBool = AtomicBool::new(false);

/// An entry in the program's list of functions that the loader calls before `main`.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = look_at_pipes;

extern "C" fn look_at_pipes() {
    // SAFETY: the action is plain data for which zeroes are a value, and valid for the call, which changes nothing.
    let ignores = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    };
    IGNORES_PIPES.store(ignores, Ordering::Relaxed);
}

/// Has the program started with SIGPIPE ignored if this process was.
pub fn keep_pipes_ignored(command: &mut Command) {
    if !IGNORES_PIPES.load(Ordering::Relaxed) {
        return;
    }
    let ignore = || {
        // SAFETY: it takes numbers, and may be called between fork and exec.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: the function allocates nothing and takes no lock.
    unsafe { command.pre_exec(ignore) };
}

/// Begins to catch the signals. Those that are ignored (`nohup`) stay ignored, here and in the program.
pub fn catch() {
    for signal in SIGNALS {
        // SAFETY: both actions are plain data for which zeroes are a value; the handler has the signature that SA_SIGINFO asks
        // for, and does only what a signal handler may do.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &mut before) == 0 && before.sa_sigaction != libc::SIG_IGN {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = pass_on as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

/// From now on signals go to this process, and one that came before.
pub fn pass_on_to(program: u32) {
    PROGRAM.store(program as i32, Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 {
        // SAFETY: kill takes numbers.
        unsafe { libc::kill(program as i32, early) };
    }
}

/// The program has ended, and its number may soon be another's.
pub fn over() {
    PROGRAM.store(0, Ordering::SeqCst);
}

extern "C" fn pass_on(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid info.
    let from_a_process = unsafe { (*info).si_code } <= 0;
    if !from_a_process {
        return;
    }
    match PROGRAM.load(Ordering::SeqCst) {
        0 => EARLY.store(signal, Ordering::SeqCst),
        // SAFETY: kill takes numbers and is one of the functions that a signal handler may call.
        program => unsafe {
            libc::kill(program, signal);
        },
    }
}
