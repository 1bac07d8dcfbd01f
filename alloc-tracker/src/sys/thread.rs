//! Threads of the tracker's own. Those of the standard library allocate before their work begins (their name, their
//! destructors), and nobody could say that this is the tracker's memory; these run their work and nothing else. No signal
//! of the program's reaches them.
use std::ffi::{CStr, c_void};
use std::{io, mem, ptr};

/// Bytes of address space for the stack.
const STACK_BYTES: usize = 2 << 20;

type Work = Box<dyn FnOnce() + Send>;

/// A thread that runs.
#[derive(Debug)]
pub struct Thread(libc::pthread_t);

impl Thread {
    /// Has `work` done by a thread of this name, of at most 15 bytes.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn spawn(name: &'static CStr, work: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
        let named = move || {
            // SAFETY: `name` is a C string; one that is too long is refused, and nothing else happens.
            unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
            work();
        };
        let work: *mut Work = Box::into_raw(Box::new(Box::new(named)));
        let mut thread = mem::MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used and destroyed after; both signal sets are valid for
        // the calls; `begin` has the signature asked for and gets what it wants, once.
        let status = unsafe {
            let (mut attributes, mut all, mut before) = (mem::zeroed(), mem::zeroed(), mem::zeroed());
            libc::pthread_attr_init(&mut attributes);
            libc::pthread_attr_setstacksize(&mut attributes, STACK_BYTES);
            // A thread begins with the mask of the one that makes it.
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let status = libc::pthread_create(thread.as_mut_ptr(), &attributes, begin, work.cast());
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
            libc::pthread_attr_destroy(&mut attributes);
            status
        };
        if status != 0 {
            // SAFETY: no thread has it.
            drop(unsafe { Box::from_raw(work) });
            return Err(io::Error::from_raw_os_error(status));
        }
        // SAFETY: pthread_create has written it.
        Ok(Thread(unsafe { thread.assume_init() }))
    }

    /// Waits until it has ended. A panic in its work has ended that alone.
    pub fn join(self) {
        // SAFETY: the thread was not joined before, since that takes the value.
        unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
    }
}

extern "C" fn begin(work: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` gives a box of this type, and gives it away.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    // A panic must not leave a C callback; its message has been printed.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    ptr::null_mut()
}
