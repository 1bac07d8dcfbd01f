//! Whether a program that is about to be started can load this library. The loader says on standard error when it cannot: for a program of 32 bits, in another
//! root, and where the program's user may not read the file. One that runs with musl does not start at all, because it does not find what the library needs.
//!
//! A child that shares its parent's memory (vfork) asks too, so nothing here allocates, and all is done by system calls.
use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use alloc_tracker::unaided::{as_tracker, own_library};

/// So much of a file is looked at, in bytes: program headers and the loader's name stand at its beginning.
const BEGINNING: usize = 2048;
/// Longer paths are not looked at, in bytes (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;
/// The kernel follows interpreters of scripts at most so many times. (The command line says of the first program what this module says of others:
/// `alloc-tracker/cli/src/{elf,program}.rs`.)
const MOST_INTERPRETERS: usize = 5;

/// This library's file, by the path by which it was loaded.
static OWN: OnceLock<CString> = OnceLock::new();

/// Finds out which file this library is: to be called before `main`.
pub fn find_own() {
    as_tracker(|| {
        if let Some(path) = own_library().and_then(|path| CString::new(path.as_os_str().as_bytes()).ok()) {
            // It is looked up once.
            let _ = OWN.set(path);
        }
    });
}

/// This library's file; `None` where it is not known.
fn own_file() -> Option<&'static CStr> {
    OWN.get().map(CString::as_c_str)
}

/// The libraries beside this one that a value of `LD_PRELOAD` names (ld.so(8): colons or blanks stand between them).
pub fn without_own(libraries: &[u8]) -> impl Iterator<Item = &[u8]> {
    let own = own_file().map(CStr::to_bytes);
    let all = libraries.split(|byte| matches!(byte, b':' | b' '));
    all.filter(move |path| !path.is_empty() && Some(*path) != own)
}

/// A program's file, as the functions are told of it that start one.
#[derive(Clone, Copy, Debug)]
pub enum File {
    /// By its path, from this open folder on.
    At(c_int, *const c_char),
    /// Open.
    Open(c_int),
    /// By its name, which is looked for in PATH.
    Named(*const c_char),
}

impl File {
    /// By its path, or by its name if that has no slash.
    ///
    /// # Safety
    /// `name` is null or a C string.
    pub unsafe fn of(name: *const c_char) -> File {
        // SAFETY: as the caller promises.
        let has_slash = !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes().contains(&b'/');
        if has_slash { File::At(libc::AT_FDCWD, name) } else { File::Named(name) }
    }

    /// Whether the program can load this library, as far as can be told. What the kernel will refuse is said to.
    ///
    /// # Safety
    /// A path and a name are null or C strings.
    pub unsafe fn can_load(self) -> bool {
        let Some(own) = own_file() else { return true };
        // SAFETY: the paths are C strings, and a descriptor that was opened here is closed here.
        unsafe {
            match open(libc::AT_FDCWD, own.as_ptr()) {
                Ok(file) => close(file),
                Err(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ELOOP) => return false,
                // This process has no descriptor left, say, which the new program will have.
                Err(_) => {}
            }
            let opened = match self {
                File::Open(file) => return can_load(file),
                File::At(_, path) | File::Named(path) if path.is_null() => return true,
                File::At(folder, path) => open(folder, path).ok(),
                File::Named(name) => open_named(CStr::from_ptr(name).to_bytes()),
            };
            opened.is_none_or(|file| {
                let can = can_load(file);
                close(file);
                can
            })
        }
    }
}

/// Opens the first file of that name in PATH that can be executed, as execvp(3) looks for it.
///
/// # Safety
/// No other thread changes the environment meanwhile, as for execvp.
unsafe fn open_named(name: &[u8]) -> Option<c_int> {
    // SAFETY: as the caller promises; what getenv gives is null or a C string.
    let folders = unsafe {
        let set = libc::getenv(c"PATH".as_ptr());
        if set.is_null() { c"/bin:/usr/bin" } else { CStr::from_ptr(set) }
    };
    let mut path = [0; LONGEST_PATH];
    folders.to_bytes().split(|&byte| byte == b':').find_map(|folder| {
        let folder = if folder.is_empty() { b"." } else { folder };
        let end = folder.len() + 1 + name.len();
        let whole = path.get_mut(..=end)?;
        whole[..folder.len()].copy_from_slice(folder);
        whole[folder.len()] = b'/';
        whole[folder.len() + 1..end].copy_from_slice(name);
        whole[end] = 0;
        // SAFETY: it is a C string.
        unsafe {
            let path = whole.as_ptr().cast();
            (libc::access(path, libc::X_OK) == 0).then(|| open(libc::AT_FDCWD, path).ok()).flatten()
        }
    })
}

/// Opens a file for reading. The error is `errno`.
///
/// # Safety
/// `path` is a C string.
unsafe fn open(folder: c_int, path: *const c_char) -> Result<c_int, c_int> {
    // Whatever it is, a pipe among other things, nobody waits for it.
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;
    // SAFETY: as the caller promises; errno can be read in every thread. By the system call, because the function is a point at which a thread may be
    // cancelled.
    unsafe {
        let file = libc::syscall(libc::SYS_openat, folder, path, flags);
        c_int::try_from(file).ok().filter(|&file| file >= 0).ok_or_else(|| *libc::__errno_location())
    }
}

/// # Safety
/// `file` is a descriptor that was opened here.
unsafe fn close(file: c_int) {
    // SAFETY: as the caller promises.
    unsafe { libc::syscall(libc::SYS_close, file) };
}

/// Whether the program in this open file can load the library. `file` stays open.
///
/// # Safety
/// `file` is a descriptor.
unsafe fn can_load(file: c_int) -> bool {
    let (mut beginning, mut interpreter) = ([0; BEGINNING], None);
    for _ in 0..MOST_INTERPRETERS {
        let read = interpreter.unwrap_or(file);
        // SAFETY: as the caller promises; the buffer is valid for so many bytes.
        let length = unsafe { libc::syscall(libc::SYS_pread64, read, beginning.as_mut_ptr(), BEGINNING - 1, 0) };
        if let Some(opened) = interpreter.take() {
            // SAFETY: it was opened below.
            unsafe { close(opened) };
        }
        let Some(bytes) = usize::try_from(length).ok().and_then(|length| beginning.get_mut(..=length)) else {
            return true;
        };
        match kind(bytes) {
            Kind::Script(path) => {
                // SAFETY: `kind` has put a zero behind the path.
                interpreter = unsafe { open(libc::AT_FDCWD, bytes[path..].as_ptr().cast()) }.ok();
                if interpreter.is_none() {
                    return true;
                }
            }
            Kind::Program(can) => return can,
        }
    }
    if let Some(opened) = interpreter {
        // SAFETY: as above.
        unsafe { close(opened) };
    }
    true
}

enum Kind {
    /// The bytes of the interpreter's path begin here, and a zero follows them.
    Script(usize),
    /// Whether the program can load the library.
    Program(bool),
}

/// What a file is that begins with these bytes, of which the last is free.
fn kind(bytes: &mut [u8]) -> Kind {
    let end = bytes.len() - 1;
    if !bytes[..end].starts_with(b"#!") {
        return Kind::Program(can_load_beginning(&bytes[..end]));
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let first = 2 + bytes[2..end].iter().take_while(|byte| is_blank(byte)).count();
    let last = first + bytes[first..end].iter().take_while(|byte| !is_blank(byte) && **byte != b'\n').count();
    bytes[last] = 0;
    Kind::Script(first)
}

/// The processor of this machine, as ELF numbers it.
const NATIVE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
/// `ELFCLASS64`, and `PT_INTERP`.
const OF_64_BITS: u8 = 2;
const INTERPRETER: u32 = 3;

/// Whether a program whose file begins with these bytes can load the library: not one of another machine, and not one that runs with musl. What is no ELF
/// file (elf(5)), and what cannot be told from its beginning, is believed to.
fn can_load_beginning(bytes: &[u8]) -> bool {
    if !bytes.starts_with(b"\x7fELF") {
        return true;
    }
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| usize::try_from(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?)).ok();
    if bytes.get(4).is_some_and(|&class| class != OF_64_BITS) || half(18).is_some_and(|processor| processor != NATIVE) {
        return false;
    }
    // e_phoff, e_phentsize and e_phnum; then p_type, p_offset and p_filesz.
    let (Some(headers), Some(length), Some(count)) = (long(32), half(54), half(56)) else { return true };
    let loader = (0..usize::from(count)).find_map(|index| {
        let header = headers.checked_add(index * usize::from(length))?;
        (word(header)? == INTERPRETER).then_some(())?;
        let from = long(header + 8)?;
        bytes.get(from..from.checked_add(long(header + 32)?)?)
    });
    loader.is_none_or(|loader| !loader.windows(7).any(|name| name == b"ld-musl"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A program of this class and processor whose loader has this name.
    fn program(class: u8, processor: u16, loader: &str) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', class]);
        bytes[18..20].copy_from_slice(&processor.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64] = 3;
        bytes[64 + 8] = 120;
        bytes[64 + 32] = loader.len() as u8;
        bytes.extend(loader.as_bytes());
        bytes
    }

    fn file_can_load(bytes: &[u8]) -> bool {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("room");
        let path = CString::new(file.path().as_os_str().as_bytes()).expect("a path");
        // SAFETY: it is a C string.
        let opened = unsafe { open(libc::AT_FDCWD, path.as_ptr()) }.expect("a file");
        // SAFETY: it was opened here.
        unsafe {
            let can = can_load(opened);
            close(opened);
            can
        }
    }

    #[test]
    fn programs_of_other_machines_and_of_musl_cannot() {
        assert!(file_can_load(&program(2, NATIVE, "/lib64/ld-linux-x86-64.so.2")));
        assert!(!file_can_load(&program(2, NATIVE, "/lib/ld-musl-x86_64.so.1")));
        assert!(!file_can_load(&program(1, 3, "/lib/ld-linux.so.2")));
        assert!(!file_can_load(&program(2, 243, "/lib/ld-linux-riscv64-lp64d.so.1")));
        assert!(file_can_load(b"") && file_can_load(b"\x7fELF\x02"), "the kernel refuses it");
        assert!(file_can_load(&std::fs::read("/proc/self/exe").expect("this test")));
    }

    #[test]
    fn a_name_is_looked_for_in_path() {
        // SAFETY: nothing changes the environment here.
        let open = |name: &[u8]| unsafe { open_named(name) };
        let shell = open(b"sh").expect("a shell");
        // SAFETY: it was opened here.
        unsafe { close(shell) };
        assert!(open(b"no-such-program").is_none() && open(&[b'x'; LONGEST_PATH]).is_none());
    }

    #[test]
    fn a_script_is_as_its_interpreter() {
        let mut musl = tempfile::NamedTempFile::new().expect("a file");
        musl.write_all(&program(2, NATIVE, "/lib/ld-musl-x86_64.so.1")).expect("room");
        let script = |interpreter: &str| file_can_load(format!("#! {interpreter} -x\nwords\n").as_bytes());
        assert!(!script(&musl.path().display().to_string()));
        assert!(script("/proc/self/exe") && script("/no/such/file"));
        let mut short = tempfile::NamedTempFile::new().expect("a file");
        short.write_all(b"#").expect("room");
        assert!(script(&short.path().display().to_string()), "the kernel refuses it");
    }
}
