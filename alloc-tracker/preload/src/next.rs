//! The C library's own functions of the names that this library has as well. Those of the exec family are looked up before `main`, because a child that
//! shares its parent's memory (vfork) may call them and nothing else.
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Arguments or environment, as C has them.
pub type Words = *const *const c_char;

type WithBoth<File> = unsafe extern "C" fn(File, Words, Words) -> c_int;

/// `posix_spawn`: where the number of the process goes, the program, actions, attributes, arguments and environment.
pub type Spawn =
    unsafe extern "C" fn(*mut libc::pid_t, *const c_char, *const c_void, *const c_void, Words, Words) -> c_int;

/// `dlclose`.
pub type Close = unsafe extern "C" fn(*mut c_void) -> c_int;

/// `fopen`.
pub type Open = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE;

/// The C library's function of this name, which has the type `F`.
pub struct Next<F>(&'static CStr, AtomicPtr<c_void>, PhantomData<F>);

impl<F: Copy> Next<F> {
    /// # Safety
    /// `F` is the type of a function pointer, and the C library's function of this name has it.
    const unsafe fn new(name: &'static CStr) -> Next<F> {
        assert!(size_of::<F>() == size_of::<*mut c_void>());
        Next(name, AtomicPtr::new(std::ptr::null_mut()), PhantomData)
    }

    /// The function; `None` where the C library has none of this name.
    pub fn get(&self) -> Option<F> {
        let mut found = self.1.load(Ordering::Acquire);
        if found.is_null() {
            // SAFETY: the name is a C string; RTLD_NEXT asks for the definition after this library's.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.0.as_ptr()) };
            self.1.store(found, Ordering::Release);
        }
        // SAFETY: the address of a function of the type that `new` was promised, which is as large as a pointer.
        (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
    }
}

/// `execve`.
// SAFETY: this is the type that unistd.h gives the function.
pub static EXECVE: Next<WithBoth<*const c_char>> = unsafe { Next::new(c"execve") };
/// `execvpe`.
// SAFETY: as above.
pub static EXECVPE: Next<WithBoth<*const c_char>> = unsafe { Next::new(c"execvpe") };
/// `fexecve`.
// SAFETY: as above.
pub static FEXECVE: Next<WithBoth<c_int>> = unsafe { Next::new(c"fexecve") };

/// `posix_spawn`.
// SAFETY: this is the type that spawn.h gives the function.
pub static POSIX_SPAWN: Next<Spawn> = unsafe { Next::new(c"posix_spawn") };
/// `posix_spawnp`.
// SAFETY: as above.
pub static POSIX_SPAWNP: Next<Spawn> = unsafe { Next::new(c"posix_spawnp") };

/// `dlclose`.
// SAFETY: this is the type that dlfcn.h gives the function.
pub static DLCLOSE: Next<Close> = unsafe { Next::new(c"dlclose") };

/// `fopen`.
// SAFETY: this is the type that stdio.h gives the function.
pub static FOPEN: Next<Open> = unsafe { Next::new(c"fopen") };
/// `fopen64`.
// SAFETY: as above.
pub static FOPEN64: Next<Open> = unsafe { Next::new(c"fopen64") };

/// Looks the exec family up.
pub fn look_up() {
    let _ = (EXECVE.get(), EXECVPE.get(), FEXECVE.get());
}
