//! A file that has no name any more, from what is loaded of it: plug-ins are often deleted as soon as they are loaded, and libraries replaced
//! while a program runs. The loader has mapped all that unwinding needs.
//!
//! What is read here may be unloaded at any time. So the kernel reads it, which says no where there is nothing.
use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::Range;
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use object::Endianness;
use object::elf::{FileHeader64, PT_GNU_EH_FRAME, ProgramHeader64};
use object::pod::from_bytes;
use object::read::elf::{FileHeader, ProgramHeader};
use rustc_hash::FxHasher;

use super::elf::{Bytes, CodeFile, Opened, Part, Sections, Segment, Stamp, segments};

/// The most bytes that are copied of a file.
const MOST: u64 = 64 << 20;

/// The file whose first byte is at `start`; `None` where that is no ELF file.
pub fn loaded(start: u64) -> Option<Opened> {
    let mut header = [0; size_of::<FileHeader64<Endianness>>()];
    read(start, &mut header)?;
    let (header, _) = from_bytes::<FileHeader64<Endianness>>(&header).ok()?;
    let endian = header.endian().ok()?;
    let mut table = vec![0; usize::from(header.e_phnum.get(endian)) * size_of::<ProgramHeader64<Endianness>>()];
    read(start.wrapping_add(header.e_phoff.get(endian)), &mut table)?;
    let (headers, _) =
        object::pod::slice_from_bytes::<ProgramHeader64<Endianness>>(&table, usize::from(header.e_phnum.get(endian)))
            .ok()?;
    let segments = segments(headers, endian);
    let file = CodeFile::of_segments(&segments);
    // The first byte of the file is where the first segment begins.
    let base = start.wrapping_sub(segments.iter().find(|segment| segment.bytes.start == 0)?.address);
    let index = headers.iter().find(|header| header.p_type(endian) == PT_GNU_EH_FRAME);
    let index = index.map(|header| header.p_vaddr(endian)..header.p_vaddr(endian) + header.p_memsz(endian));
    let sections = index.and_then(|index| tables(&segments, base, index)).unwrap_or_default();
    let tables = sections.eh_frame.as_deref().unwrap_or_default();
    let hash = |seed: u64| (seed, &table, tables);
    let [one, other] = [0, 1].map(|seed| BuildHasherDefault::<FxHasher>::default().hash_one(hash(seed)).cast_signed());
    let stamp = Stamp(tables.len() as u64, one, other);
    let sections = ExplicitModuleSectionInfo { base_svma: file.lowest, ..sections };
    Some(Opened { file, stamp, sections })
}

/// The unwind tables: `index`, which is the section `.eh_frame_hdr`, and what it points to, up to the end of their segment.
fn tables(segments: &[Segment], base: u64, index: Range<u64>) -> Option<Sections> {
    let end_of = |segment: &Segment| segment.address + (segment.bytes.end - segment.bytes.start);
    let segment = segments.iter().find(|segment| segment.address <= index.start && index.end <= end_of(segment))?;
    let whole = segment.address..end_of(segment);
    if whole.end - whole.start > MOST {
        return None;
    }
    let mut bytes = vec![0; (whole.end - whole.start) as usize];
    read(base.wrapping_add(whole.start), &mut bytes)?;
    // Linux Standard Base, "The .eh_frame_hdr section": version 1, and the pointer to the table is four bytes from its own place.
    let head: [u8; 8] = bytes.get((index.start - whole.start) as usize..)?.first_chunk().copied()?;
    if head[..2] != [1, 0x1b] {
        return None;
    }
    let distance = i32::from_ne_bytes([head[4], head[5], head[6], head[7]]);
    let table = (index.start + 4).checked_add_signed(distance.into())?;
    if !whole.contains(&table) {
        return None;
    }
    let bytes = Arc::new(Bytes::Copied(bytes));
    let part = |addresses: &Range<u64>| Part {
        bytes: bytes.clone(),
        part: (addresses.start - whole.start) as usize..(addresses.end - whole.start) as usize,
    };
    let table = table..whole.end;
    Some(ExplicitModuleSectionInfo {
        eh_frame: Some(part(&table)),
        eh_frame_svma: Some(table),
        eh_frame_hdr: Some(part(&index)),
        eh_frame_hdr_svma: Some(index),
        ..ExplicitModuleSectionInfo::default()
    })
}

/// Fills `into` with what is at an address of this process; `None` where there is less.
fn read(address: u64, into: &mut [u8]) -> Option<()> {
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let there = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel writes at most as many bytes into `into` as it has, and checks the addresses that it reads from.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    (usize::try_from(read) == Ok(into.len())).then_some(())
}
