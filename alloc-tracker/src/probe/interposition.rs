//! Finds out which malloc each loaded object calls. The linker can drop an interposing archive member without a message
//! (rust-lang/rust#57287), so we look it up in the running process: each object's relocations hold the addresses that
//! its calls go to.
use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

use alloc_timeline::Resolution;
use object::{NativeEndian, elf};

/// The functions that we look for. An object whose calls of these reach the tracker reaches it with the rest of the
/// family too.
const SYMBOLS: [&CStr; 3] = [c"malloc", c"posix_memalign", c"free"];

/// The relocations that hold a function's address (System V ABI, AMD64 supplement, "Relocation").
#[cfg(target_arch = "x86_64")]
const ADDRESS_RELOCATIONS: [elf::RelocationType; 3] =
    [elf::R_X86_64_GLOB_DAT, elf::R_X86_64_JUMP_SLOT, elf::R_X86_64_64];
/// The relocations that hold a function's address (ELF for the Arm 64-bit Architecture).
#[cfg(target_arch = "aarch64")]
const ADDRESS_RELOCATIONS: [elf::RelocationType; 3] =
    [elf::R_AARCH64_GLOB_DAT, elf::R_AARCH64_JUMP_SLOT, elf::R_AARCH64_ABS64];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ADDRESS_RELOCATIONS: [elf::RelocationType; 0] = [];

/// For every loaded object that calls `malloc`, `posix_memalign` or `free`: where these calls go.
///
/// ```
/// use alloc_tracker::{interposition, untracked_objects};
///
/// let resolutions = interposition();
/// for resolution in untracked_objects(&resolutions) {
///     println!("{}: {} goes to {}", resolution.object, resolution.symbol, resolution.resolved_in);
/// }
/// ```
pub fn interposition() -> Vec<Resolution> {
    let mut calls: Vec<Call> = Vec::new();
    // SAFETY: `visit` has the signature that dl_iterate_phdr calls, and `calls` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut calls).cast()) };
    let mut found: Vec<Resolution> = Vec::new();
    for call in calls {
        let target = call.target();
        let resolved_in = object_of(target);
        let resolution = Resolution {
            object: call.object,
            symbol: call.name.to_string_lossy().into_owned(),
            resolved_in,
            tracked: same_object(target, own_address()),
        };
        if target != 0 && !found.contains(&resolution) {
            found.push(resolution);
        }
    }
    found
}

/// What the first session of this program has found, and in which process.
static FIRST_FOUND: OnceLock<(u32, Vec<Resolution>)> = OnceLock::new();

/// [`interposition`]; in a forked child what its parent has found. One of the loader's locks, which the search takes, may be that of a thread which the
/// child has not: glibc's fork resets the others and not this one (`_dl_load_write_lock`).
pub fn interposition_once() -> Vec<Resolution> {
    let process = std::process::id();
    match FIRST_FOUND.get() {
        Some((parent, found)) if *parent != process => found.clone(),
        _ => {
            let found = interposition();
            // Another thread may have been faster, with as much.
            let _ = FIRST_FOUND.set((process, found.clone()));
            found
        }
    }
}

/// One relocation of an object, as `visit` found it. `visit` itself must not call dladdr or dlsym: dl_iterate_phdr
/// holds one of the loader's locks, and a dlopen in another thread may wait for it while it holds the lock that dladdr
/// and dlsym take.
struct Call {
    object: String,
    name: &'static CStr,
    start: usize,
    target: usize,
}

impl Call {
    fn target(&self) -> usize {
        if same_object(self.target, self.start) && !same_object(self.start, own_address()) {
            // The call is not bound yet. The loader will bind it to the first definition in the process's global scope.
            // SAFETY: `name` is a C string.
            unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.name.as_ptr()) }.addr()
        } else {
            self.target
        }
    }
}

/// Those of `resolutions` that do not lead to the tracker: the allocations of these objects are not counted. The C
/// library and the dynamic loader are left out, since they call their own malloc only for blocks that they free
/// themselves.
///
/// ```
/// use alloc_tracker::{Resolution, untracked_objects};
///
/// let foreign = Resolution {
///     object: "/usr/lib/libplugin.so".to_owned(),
///     symbol: "malloc".to_owned(),
///     resolved_in: "/usr/lib/libc.so.6".to_owned(),
///     tracked: false,
/// };
/// let tracked = Resolution { tracked: true, ..foreign.clone() };
/// assert_eq!(untracked_objects(&[tracked, foreign.clone()]), [&foreign]);
/// ```
pub fn untracked_objects(resolutions: &[Resolution]) -> Vec<&Resolution> {
    let system = |object: &str| {
        let name = Path::new(object).file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libc.so") || name.starts_with("ld-linux") || name.starts_with("ld-musl")
    };
    resolutions.iter().filter(|resolution| !resolution.tracked && !system(&resolution.object)).collect()
}

extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid info, and the pointer to the list that `interposition` gave it and does
    // not touch meanwhile.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Call>>()) };
    let name = if info.dlpi_name.is_null() {
        String::new()
    } else {
        // SAFETY: a non-null dlpi_name is a C string of the loader.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned()
    };
    let object = if name.is_empty() { executable() } else { name };
    for (name, start, target) in targets(info) {
        found.push(Call { object: object.clone(), name, start, target });
    }
    0
}

fn executable() -> String {
    std::env::current_exe().map_or_else(|_| "the executable".to_owned(), |path| path.display().to_string())
}

/// An address in the object that holds the tracker.
fn own_address() -> usize {
    interposition as fn() -> Vec<Resolution> as usize
}

/// The shared library that holds the tracker, or `None` when it is part of the program.
pub fn own_library() -> Option<std::path::PathBuf> {
    // Found before the recorder's threads ask, which may not wait for the loader.
    static FOUND: OnceLock<Option<std::path::PathBuf>> = OnceLock::new();
    let find = || {
        let path = std::path::PathBuf::from(object_at(own_address())?.1);
        let name = path.file_name()?.to_string_lossy().into_owned();
        (name.ends_with(".so") || name.contains(".so.")).then_some(path)
    };
    FOUND.get_or_init(find).clone()
}

/// The load address and the path of the object that holds `address`.
fn object_at(address: usize) -> Option<(usize, String)> {
    // SAFETY: Dl_info is plain data for which zeroes are a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr accepts every address; `info` is valid for writing.
    if unsafe { libc::dladdr(address as *const c_void, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a non-null dli_fname is a C string of the loader.
    let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
    Some((info.dli_fbase.addr(), path))
}

fn object_of(address: usize) -> String {
    object_at(address).map_or_else(|| format!("{address:#x}"), |(_, path)| path)
}

fn same_object(a: usize, b: usize) -> bool {
    match (object_at(a), object_at(b)) {
        (Some((a, _)), Some((b, _))) => a == b,
        _ => false,
    }
}

/// What a loaded object's dynamic section says, as addresses in memory.
#[derive(Default)]
struct Dynamic {
    strings: usize,
    symbols: usize,
    /// Start and bytes of the relocations of data, and of those of procedure linkage.
    relocations: [(usize, usize); 2],
}

impl Dynamic {
    /// Reads the section of `info`'s object; `None` when it has none.
    fn of(info: &libc::dl_phdr_info) -> Option<Self> {
        let base = info.dlpi_addr as usize;
        // SAFETY: the loader's program headers of a loaded object are valid for the callback's duration.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let section = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let mut entry = (base + section.p_vaddr as usize) as *const elf::Dyn64<NativeEndian>;
        let mut found = Dynamic::default();
        loop {
            // SAFETY: the dynamic section is an array of entries that ends with one of tag DT_NULL.
            let (tag, value) = unsafe { ((*entry).d_tag.get(NativeEndian), (*entry).d_val.get(NativeEndian) as usize) };
            // glibc has already relocated these addresses, other loaders and the vDSO have not.
            let address = if value < base { base + value } else { value };
            match tag {
                elf::DT_NULL => return (found.strings != 0 && found.symbols != 0).then_some(found),
                elf::DT_STRTAB => found.strings = address,
                elf::DT_SYMTAB => found.symbols = address,
                elf::DT_RELA => found.relocations[0].0 = address,
                elf::DT_RELASZ => found.relocations[0].1 = value,
                elf::DT_JMPREL => found.relocations[1].0 = address,
                elf::DT_PLTRELSZ => found.relocations[1].1 = value,
                _ => {}
            }
            // SAFETY: the terminating entry has not been reached, so there is a next one.
            entry = unsafe { entry.add(1) };
        }
    }
}

/// Symbol, load address and target address of each relocation of `info`'s object that matters.
fn targets(info: &libc::dl_phdr_info) -> Vec<(&'static CStr, usize, usize)> {
    let base = info.dlpi_addr as usize;
    let Some(Dynamic { strings, symbols, relocations }) = Dynamic::of(info) else { return Vec::new() };
    let mut found = Vec::new();
    for (start, bytes) in relocations.into_iter().filter(|&(start, _)| start != 0) {
        let count = bytes / size_of::<elf::Rela64<NativeEndian>>();
        // SAFETY: DT_RELA and DT_JMPREL are the addresses of arrays of relocations, whose sizes in bytes are DT_RELASZ
        // and DT_PLTRELSZ. The loader keeps them while dl_iterate_phdr runs.
        let list = unsafe { std::slice::from_raw_parts(start as *const elf::Rela64<NativeEndian>, count) };
        for relocation in list {
            let symbol = relocation.r_sym(NativeEndian, false) as usize;
            if symbol == 0 || !ADDRESS_RELOCATIONS.contains(&relocation.r_type(NativeEndian, false)) {
                continue;
            }
            // SAFETY: a relocation's symbol number is an index into the object's symbol table, and the name of a symbol
            // an offset into its string table.
            let name = unsafe {
                let entry = &*(symbols as *const elf::Sym64<NativeEndian>).add(symbol);
                CStr::from_ptr((strings + entry.st_name.get(NativeEndian) as usize) as *const _)
            };
            let Some(name) = SYMBOLS.into_iter().find(|&known| known == name) else { continue };
            let place = (base + relocation.r_offset.get(NativeEndian) as usize) as *const usize;
            // SAFETY: such a relocation's place is a readable word of the loaded object. In a packed struct it may be
            // unaligned.
            let target = unsafe { place.read_unaligned() };
            found.push((name, start, target));
        }
    }
    found
}
