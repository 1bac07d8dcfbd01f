//! Threads that belong to the tracker. A thread of the standard library allocates (its name, its list of destructors)
//! before its work begins, and the tracker could not tell that memory from the program's. A [`Thread`] allocates
//! nothing of its own and receives none of the program's signals.
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::{io, mem, ptr};

use alloc_timeline::kept_file::Table;

use super::{last_thread, page_bytes};

/// Bytes of address space for the stack, besides what the C library takes of it.
const STACK_BYTES: usize = 2 << 20;

/// What the C library takes of each thread's stack, in bytes: glibc has the thread-local variables of the program and its libraries there, however
/// large (<https://sourceware.org/bugzilla/show_bug.cgi?id=11787>). 0 where no function tells it. The first thread is started by one that may have the loader's
/// lock; later ones, by whomever, ask the loader for nothing.
fn library_bytes(attributes: &libc::pthread_attr_t) -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // SAFETY: the name is a C string; RTLD_DEFAULT asks for the definition that the program sees.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr()) };
        if found.is_null() {
            return 0;
        }
        // SAFETY: glibc's function of this name has this type (its nptl/nptl-stack.c), and Rust's standard library calls it too.
        let least: extern "C" fn(*const libc::pthread_attr_t) -> usize = unsafe { mem::transmute(found) };
        least(attributes).next_multiple_of(page_bytes())
    })
}

type Work = Box<dyn FnOnce() + Send>;

/// A running thread.
#[derive(Debug)]
pub struct Thread(libc::pthread_t);

impl Thread {
    /// Starts a thread that runs `work`. The kernel allows names of at most 15 bytes.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn spawn(name: &'static CStr, work: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
        // A thread starts with the table of descriptors of its creator.
        let table = Table::current();
        let named = move || {
            table.is_current_from_now_on();
            // SAFETY: `name` is a C string; the C library refuses one that is too long and then changes nothing.
            unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
            work();
        };
        let work: *mut Work = Box::into_raw(Box::new(Box::new(named)));
        let mut thread = mem::MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used and destroyed after; both signal sets are valid
        // for the calls; `begin` has the signature asked for and gets what it wants, once.
        let status = unsafe {
            let (mut attributes, mut all, mut before) = (mem::zeroed(), mem::zeroed(), mem::zeroed());
            libc::pthread_attr_init(&mut attributes);
            libc::pthread_attr_setstacksize(&mut attributes, STACK_BYTES + library_bytes(&attributes));
            // A new thread inherits the signal mask of its creator: with all signals blocked it receives none.
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let status = libc::pthread_create(thread.as_mut_ptr(), &attributes, begin, work.cast());
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
            libc::pthread_attr_destroy(&mut attributes);
            status
        };
        if status != 0 {
            // SAFETY: no thread was started, so the box still belongs to this function.
            drop(unsafe { Box::from_raw(work) });
            return Err(io::Error::from_raw_os_error(status));
        }
        // SAFETY: pthread_create succeeded (see above) and has written the thread's id.
        Ok(Thread(unsafe { thread.assume_init() }))
    }

    /// Whether this is the calling thread.
    pub fn is_current(&self) -> bool {
        // SAFETY: both are ids of threads, and to compare them needs no thread to run.
        unsafe { libc::pthread_equal(self.0, libc::pthread_self()) != 0 }
    }

    /// Waits until the thread has ended. A panic in its work ends that thread and nothing else.
    pub fn join(self) {
        // SAFETY: `self` is the only value with this thread's id and is consumed here, so a thread is joined once at
        // most.
        unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
    }
}

extern "C" fn begin(work: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` passes a pointer from `Box::into_raw` of this type, and does not use it again.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    // A panic must not unwind out of a C callback.
    last_thread::as_own(|| {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    });
    ptr::null_mut()
}
