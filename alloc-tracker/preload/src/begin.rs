//! The start of a session: before `main`, and in each forked child.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use alloc_tracker::Session;
use alloc_tracker::unaided::{Request, as_tracker, ask, say_refused, start_up};

use crate::children::are_followed;
use crate::settings::{Follow, Settings};
use crate::{loadable, loaded, next, output};

/// An entry in the library's list of functions that the loader calls before `main`.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

static SETTINGS: OnceLock<Settings> = OnceLock::new();
/// Whether this process was forked by a recorded one, and has become no other program since.
static IS_FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn before_main() {
    // A panic must not unwind into the loader. What goes wrong here costs the recording and nothing else.
    let _ = std::panic::catch_unwind(|| {
        start_up();
        next::look_up();
        loadable::find_own();
        let Some(settings) = as_tracker(Settings::read) else { return };
        let settings = SETTINGS.get_or_init(|| settings);
        if settings.follow == Follow::Nobody {
            // SAFETY: `main` has not begun, and the recorder's thread does not run yet.
            unsafe { Settings::end_inheritance() };
        }
        start(settings);
        // SAFETY: the function has the signature that at_quick_exit calls, and lives as long as the process.
        #[cfg(target_os = "linux")]
        unsafe {
            at_quick_exit(end_as_asked)
        };
        // SAFETY: the function has the signature that pthread_atfork asks for, and lives as long as the process. The
        // tracker's own handler was registered by `start_up`, and so runs before this one.
        unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
        if settings.follow == Follow::Torch {
            // SAFETY: the function has the signature that atexit calls, and lives as long as the process. It is registered
            // after the session's own and so runs before it.
            unsafe { libc::atexit(end_as_asked) };
        }
    });
}

extern "C" fn after_fork_in_child() {
    let _ = std::panic::catch_unwind(|| {
        IS_FORKED.store(true, Ordering::Relaxed);
        let is_followed = |settings: &&Settings| settings.follow != Follow::Nobody && are_followed();
        if let Some(settings) = SETTINGS.get().filter(is_followed) {
            start(&Settings { is_first: false, ..settings.clone() });
        }
    });
}

/// Starts a session again, in a process that could not become another program.
pub fn start_again() {
    if let Some(settings) = SETTINGS.get() {
        let is_first = settings.is_first && !IS_FORKED.load(Ordering::Relaxed);
        start(&Settings { is_first, ..settings.clone() });
    }
}

fn start(settings: &Settings) {
    let path = as_tracker(|| output::path(settings, std::process::id()));
    let session = Session::builder()
        .output(path)
        .quiet()
        .fact("parent_pid", u64::from(std::os::unix::process::parent_id()))
        .start();
    match session {
        // It ends with the process.
        Ok(session) => std::mem::forget(session),
        // `alloc-tracker record` says it when the program has ended.
        Err(error) => as_tracker(|| say_refused(&error)),
    }
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// `at_quick_exit(3)`, which the package `libc` does not declare.
    fn at_quick_exit(function: extern "C" fn()) -> std::ffi::c_int;
}

/// Runs in `quick_exit`, which calls no handler of the session's, and in `exit` where the session's own handler would keep every timeline.
extern "C" fn end_as_asked() {
    ask(at_exit);
}

/// What is to become of the timeline when the process ends. Nobody asked for a process without libtorch where only those
/// with it are recorded.
pub fn at_exit() -> Request {
    match SETTINGS.get() {
        Some(settings) if settings.follow == Follow::Torch && !has_torch() => Request::Discard,
        _ => Request::Exit,
    }
}

/// What is to become of the timeline when the process ends itself because the user interrupted it.
pub fn at_interrupt() -> Request {
    match at_exit() {
        Request::Exit => Request::Interrupt,
        other => other,
    }
}

/// What is to become of the timeline when the process becomes another program. A child that was forked for that alone has
/// nothing to tell.
pub fn at_exec() -> Request {
    if IS_FORKED.load(Ordering::Relaxed) { Request::Discard } else { at_exit() }
}

/// Whether libtorch is loaded.
fn has_torch() -> bool {
    loaded::any(|library| library.file().starts_with(b"libtorch"))
}
