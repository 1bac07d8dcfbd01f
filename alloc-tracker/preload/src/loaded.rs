//! What the process has loaded: functions and variables by name, libraries by what lies in them.
use std::ffi::{CStr, c_int, c_void};

/// Where a function or a variable of this name is; `None` where nothing that is loaded has one.
pub fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The function of this name.
///
/// # Safety
/// `F` is a function pointer of that function's type.
pub unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: as the caller promises; a function pointer is as large as a pointer.
    find(name).map(|found| unsafe { std::mem::transmute_copy(&found) })
}

/// The program, or a library that it has loaded, as [`any`] hands it to its caller's function.
#[derive(Clone, Copy)]
pub struct Loaded<'a>(&'a libc::dl_phdr_info);

impl Loaded<'_> {
    /// The name of its file, without the folder; empty for the program.
    pub fn file(&self) -> &[u8] {
        if self.0.dlpi_name.is_null() {
            return b"";
        }
        // SAFETY: the loader's name of what it has loaded is a C string.
        let path = unsafe { CStr::from_ptr(self.0.dlpi_name) }.to_bytes();
        path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
    }

    /// Whether an address lies in what was loaded of it.
    pub fn holds(&self, address: *const c_void) -> bool {
        if self.0.dlpi_phdr.is_null() {
            return false;
        }
        // SAFETY: the loader has so many headers of it there, as long as it is loaded.
        let headers = unsafe { std::slice::from_raw_parts(self.0.dlpi_phdr, self.0.dlpi_phnum.into()) };
        let begin = |header: &libc::Elf64_Phdr| self.0.dlpi_addr.wrapping_add(header.p_vaddr);
        headers.iter().any(|header| {
            header.p_type == libc::PT_LOAD && (address.addr() as u64).wrapping_sub(begin(header)) < header.p_memsz
        })
    }
}

/// Whether `is` holds for anything that is loaded. (`dladdr` would look through all symbols of a library, which takes half a millisecond
/// for libtorch's.) `is` must not call the loader.
pub fn any<F: FnMut(Loaded) -> bool>(mut is: F) -> bool {
    unsafe extern "C" fn visit<F: FnMut(Loaded) -> bool>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        is: *mut c_void,
    ) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid info, and the function that `any` gave it, which nobody else uses meanwhile.
        let (info, is) = unsafe { (&*info, &mut *is.cast::<F>()) };
        is(Loaded(info)).into()
    }
    // SAFETY: `visit` has the signature that dl_iterate_phdr calls, and `is` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit::<F>), (&raw mut is).cast()) != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_lies_in_one_library() {
        let malloc = find(c"malloc").expect("the C library has it").cast_const();
        let here = a_function_lies_in_one_library as fn() as *const c_void;
        let holders = |address: *const c_void| {
            let mut files = Vec::new();
            any(|loaded| {
                if loaded.holds(address) {
                    files.push(loaded.file().to_vec());
                }
                false
            });
            files
        };
        assert_eq!(holders(here), [b"".to_vec()], "the program has no name");
        let getpid = holders(libc::getpid as unsafe extern "C" fn() -> libc::pid_t as *const c_void);
        assert_eq!(getpid, [b"libc.so.6".to_vec()]);
        assert_eq!(holders(malloc).len(), 1);
        assert_eq!(holders(8 as *const c_void), Vec::<Vec<u8>>::new());
    }
}
