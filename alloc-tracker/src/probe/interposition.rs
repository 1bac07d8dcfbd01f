//! Whose malloc does each loaded object call? The linker can drop an interposing archive member without a word
//! (rust-lang/rust#57287), so this is looked up in the running process: in each object's relocations, at the address
//! that its calls really go to.
use std::ffi::{CStr, c_int, c_void};
use std::path::Path;

use alloc_timeline::Resolution;

/// The functions that matter most: if one object's reach us, so do its others.
const SYMBOLS: [&CStr; 3] = [c"malloc", c"posix_memalign", c"free"];

/// R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_64 (System V ABI, AMD64 supplement, "Relocation").
#[cfg(target_arch = "x86_64")]
const ADDRESS_RELOCATIONS: [u32; 3] = [6, 7, 1];
/// R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_ABS64 (ELF for the Arm 64-bit Architecture).
#[cfg(target_arch = "aarch64")]
const ADDRESS_RELOCATIONS: [u32; 3] = [1025, 1026, 257];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ADDRESS_RELOCATIONS: [u32; 0] = [];

const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
const DT_PLTRELSZ: i64 = 2;

#[repr(C)]
struct Dyn {
    tag: i64,
    value: u64,
}

#[repr(C)]
struct Rela {
    offset: u64,
    info: u64,
    addend: i64,
}

#[repr(C)]
struct Sym {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// For every loaded object that calls malloc, posix_memalign or free: where those calls go.
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

/// An object's relocation, as `visit` found it. Nothing is asked of the loader before dl_iterate_phdr is over: that holds
/// a lock for which a dlopen in another thread waits while holding the one that dladdr and dlsym take.
struct Call {
    object: String,
    name: &'static CStr,
    start: usize,
    target: usize,
}

impl Call {
    fn target(&self) -> usize {
        if same_object(self.target, self.start) && !same_object(self.start, own_address()) {
            // Not bound yet: it will be to what the process's global scope says.
            // SAFETY: `name` is a C string.
            unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.name.as_ptr()) }.addr()
        } else {
            self.target
        }
    }
}

/// The objects among `resolutions` whose malloc or posix_memalign is not the tracker's. The C library and the dynamic
/// loader call their own for what they free themselves; they are not counted here.
pub fn untracked_objects(resolutions: &[Resolution]) -> Vec<&Resolution> {
    let system = |object: &str| {
        let name = Path::new(object).file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libc.so") || name.starts_with("ld-linux") || name.starts_with("ld-musl")
    };
    resolutions.iter().filter(|resolution| !resolution.tracked && !system(&resolution.object)).collect()
}

extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid info and the pointer that `interposition` gave it.
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

/// Symbol and target address of each relocation of `info`'s object that matters.
fn targets(info: &libc::dl_phdr_info) -> Vec<(&'static CStr, usize, usize)> {
    let base = info.dlpi_addr as usize;
    // SAFETY: the loader's program headers of a loaded object are valid for the callback's duration.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else { return Vec::new() };
    let mut table = (base + dynamic.p_vaddr as usize) as *const Dyn;
    let (mut strings, mut symbols) = (0, 0);
    let mut relocations = [(0usize, 0usize); 2];
    loop {
        // SAFETY: the dynamic section is an array of Dyn that ends with a tag of 0.
        let entry = unsafe { &*table };
        // glibc has already relocated these addresses, other loaders and the vDSO have not.
        let address = if (entry.value as usize) < base { base + entry.value as usize } else { entry.value as usize };
        match entry.tag {
            0 => break,
            DT_STRTAB => strings = address,
            DT_SYMTAB => symbols = address,
            DT_RELA => relocations[0].0 = address,
            DT_RELASZ => relocations[0].1 = entry.value as usize,
            DT_JMPREL => relocations[1].0 = address,
            DT_PLTRELSZ => relocations[1].1 = entry.value as usize,
            _ => {}
        }
        // SAFETY: the terminating entry has not been reached, so there is a next one.
        table = unsafe { table.add(1) };
    }
    if strings == 0 || symbols == 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (start, bytes) in relocations.into_iter().filter(|&(start, _)| start != 0) {
        // SAFETY: DT_RELA and DT_JMPREL point to arrays of Rela of the given sizes.
        let list = unsafe { std::slice::from_raw_parts(start as *const Rela, bytes / size_of::<Rela>()) };
        for relocation in list {
            let (symbol, kind) = ((relocation.info >> 32) as usize, relocation.info as u32);
            if symbol == 0 || !ADDRESS_RELOCATIONS.contains(&kind) {
                continue;
            }
            // SAFETY: a relocation's symbol number is an index into the object's symbol table, and the name of a symbol
            // an offset into its string table.
            let name = unsafe {
                let entry = &*(symbols as *const Sym).add(symbol);
                CStr::from_ptr((strings + entry.name as usize) as *const _)
            };
            let Some(name) = SYMBOLS.into_iter().find(|&known| known == name) else { continue };
            // SAFETY: an address relocation's place is a readable word of the loaded object.
            let target = unsafe { ((base + relocation.offset as usize) as *const usize).read() };
            found.push((name, start, target));
        }
    }
    found
}
