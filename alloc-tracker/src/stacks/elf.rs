//! ELF files of programs and libraries: each is mapped once and stays mapped, for its unwind tables and its build id.
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr;

use framehop::ExplicitModuleSectionInfo;
use object::elf::{PF_X, PT_LOAD};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection};

use crate::sys::page_bytes;

/// An ELF file whose bytes stay mapped.
pub type Elf = ElfFile64<'static, Endianness>;

/// Maps a file for the rest of the process's life and parses it; `None` when it cannot be read or is not an ELF file.
pub fn open(path: &Path) -> Option<&'static Elf> {
    let file = File::open(path).ok()?;
    let bytes = usize::try_from(file.metadata().ok()?.len()).ok().filter(|&bytes| bytes > 0)?;
    // SAFETY: a private mapping for reading, at an address of the kernel's choice, touches no existing memory.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping has that many bytes and is never unmapped. The file of a running program is not written to:
    // that would break the program itself, whose code is mapped from the same file.
    let data = unsafe { std::slice::from_raw_parts(start.cast::<u8>().cast_const(), bytes) };
    Some(Box::leak(Box::new(Elf::parse(data).ok()?)))
}

/// The address that the file itself gives to the byte of code at `offset`.
pub fn address_of(elf: &Elf, offset: u64) -> Option<u64> {
    let (endian, page) = (elf.endian(), page_bytes() as u64);
    elf.elf_program_headers().iter().find_map(|header| {
        let is_code = header.p_type(endian) == PT_LOAD && header.p_flags(endian).0 & PF_X.0 != 0;
        let (start, address) = (header.p_offset(endian), header.p_vaddr(endian));
        let inside = offset >= start / page * page && offset < start + header.p_filesz(endian);
        (is_code && inside).then(|| address.wrapping_add(offset).wrapping_sub(start))
    })
}

/// The sections of a file that the unwinder needs.
pub fn sections(elf: &Elf) -> ExplicitModuleSectionInfo<&'static [u8]> {
    let section = |name| elf.section_by_name(name);
    let range = |name| section(name).map(|found| found.address()..found.address() + found.size());
    let data = |name| section(name).and_then(|found| found.data().ok());
    ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        ..ExplicitModuleSectionInfo::default()
    }
}

/// The path at which a file's debug information would be, if it is kept in a file of its own.
pub fn debug_path(elf: &Elf) -> Option<PathBuf> {
    let id = elf.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug").into())
}
