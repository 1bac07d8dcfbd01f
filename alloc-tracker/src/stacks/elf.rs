//! ELF files with code: what is kept of each for the whole recording, and what is there only as long as code of it is loaded.
//!
//! ```text
//! the file on disk, mapped (or, where it has no name any more, what is loaded, copied) -> CodeFile: its code, its identity     kept
//!                                                                                      \-> Sections: how to unwind its code    while it is loaded
//! ```
//!
//! A file may be written to as soon as no code of it is loaded. So what is kept of it is copied, and its bytes are read no more.
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::ops::{Deref, Range};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use object::elf::{PF_X, PT_LOAD, ProgramHeader64};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ReadCache};

use crate::sys::page_bytes;

type Parsed<'a> = ElfFile64<'a, Endianness, &'a ReadCache<fs::File>>;

/// The unwind tables of a file, as `framehop` takes them.
pub type Sections = ExplicitModuleSectionInfo<Part>;

/// What is kept of a file.
#[derive(Clone, Debug, Default)]
pub struct CodeFile {
    /// Its segments with code: the bytes of the file, and the address that the file itself gives to the first of them.
    code: Vec<(Range<u64>, u64)>,
    /// The lowest address that the file gives to anything.
    pub lowest: u64,
    /// The linker's number for it; empty where it has none.
    pub build_id: Vec<u8>,
    /// The name of the file that has its debug information, where it says one.
    pub debug_link: Option<OsString>,
}

/// Says whether a file is still the one that it was: its length, and when it was last changed, in seconds and nanoseconds. Of what is loaded
/// of a file without a name: the length, and two hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp(pub u64, pub i64, pub i64);

impl Stamp {
    /// The stamp of the file at a path; `None` where it cannot be asked for.
    pub fn of(path: &Path) -> Option<Stamp> {
        path.metadata().ok().map(|metadata| Stamp::from(&metadata))
    }
}

impl From<&Metadata> for Stamp {
    fn from(file: &Metadata) -> Stamp {
        Stamp(file.len(), file.mtime(), file.mtime_nsec())
    }
}

/// Bytes of a file: mapped for reading, or copied.
#[derive(Debug)]
pub enum Bytes {
    /// Where the mapping is, and its length.
    Mapped(*const u8, usize),
    /// What was copied.
    Copied(Vec<u8>),
}

// SAFETY: the mapping is this value's alone, and is only read.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Default for Bytes {
    fn default() -> Self {
        Bytes::Copied(Vec::new())
    }
}

impl Bytes {
    /// Maps a file of this stamp; `None` when it cannot be read.
    fn map(file: &fs::File, stamp: Stamp) -> Option<Bytes> {
        let bytes = usize::try_from(stamp.0).ok().filter(|&bytes| bytes > 0)?;
        // SAFETY: a private mapping for reading, at an address of the kernel's choice, touches no existing memory.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        (start != libc::MAP_FAILED).then(|| Bytes::Mapped(start.cast::<u8>().cast_const(), bytes))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: the mapping has that many bytes, and stays as long as this value. The file of loaded code is not written to: that
            // would break the program itself, whose code is mapped from the same file. Where no code of it is loaded any more, nobody
            // reads this (`code_map::doubt`; what that leaves open is in decision 37).
            Bytes::Mapped(start, bytes) => unsafe { std::slice::from_raw_parts(*start, *bytes) },
            Bytes::Copied(bytes) => bytes,
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if let Bytes::Mapped(start, bytes) = *self {
            // SAFETY: it is the mapping that `map` has made, and nobody has a reference to it any more.
            unsafe { libc::munmap(start.cast_mut().cast(), bytes) };
        }
    }
}

/// A part of a file's bytes.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The whole.
    pub bytes: Arc<Bytes>,
    /// Which of them.
    pub part: Range<usize>,
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.part.clone()).unwrap_or_default()
    }
}

/// A file whose code is loaded.
#[derive(Debug)]
pub struct Opened {
    /// What is kept of it.
    pub file: CodeFile,
    /// Its stamp.
    pub stamp: Stamp,
    /// Its unwind tables.
    pub sections: Sections,
}

/// Opens a file; `None` when it cannot be read or is not an ELF file.
pub fn open(path: &Path) -> Option<Opened> {
    let (file, stamp) = stamped(path)?;
    let bytes = Arc::new(Bytes::map(&file, stamp)?);
    let (file, sections) = parsed(file, &bytes)?;
    Some(Opened { file, stamp, sections })
}

/// What would be kept of a file; `None` when it cannot be read or is not an ELF file.
pub fn look_at(path: &Path) -> Option<CodeFile> {
    parsed(stamped(path)?.0, &Arc::default()).map(|(file, _)| file)
}

fn stamped(path: &Path) -> Option<(fs::File, Stamp)> {
    let file = fs::File::open(path).ok()?;
    let stamp = Stamp::from(&file.metadata().ok()?);
    Some((file, stamp))
}

/// What is kept of a file, and where in its `bytes` its unwind tables are. Nothing is read through a mapping, so that a file which is written
/// to meanwhile is at worst no ELF file.
fn parsed(file: fs::File, bytes: &Arc<Bytes>) -> Option<(CodeFile, Sections)> {
    let cache = ReadCache::new(file);
    let elf = Parsed::parse(&cache).ok()?;
    let endian = elf.endian();
    let file = CodeFile {
        build_id: elf.build_id().ok().flatten().unwrap_or_default().to_vec(),
        debug_link: elf.gnu_debuglink().ok().flatten().map(|(name, _)| OsString::from_vec(name.to_vec())),
        ..CodeFile::of_segments(&segments(elf.elf_program_headers(), endian))
    };
    let sections = sections(&elf, bytes, file.lowest);
    Some((file, sections))
}

/// A segment that is loaded.
#[derive(Debug)]
pub struct Segment {
    /// Its bytes in the file.
    pub bytes: Range<u64>,
    /// The address that the file gives to the first of them.
    pub address: u64,
    is_code: bool,
}

/// The segments of a file that are loaded.
pub fn segments(headers: &[ProgramHeader64<Endianness>], endian: Endianness) -> Vec<Segment> {
    let loaded = headers.iter().filter(|header| header.p_type(endian) == PT_LOAD);
    let segment = |header: &ProgramHeader64<Endianness>| {
        let start = header.p_offset(endian);
        Segment {
            bytes: start..start.saturating_add(header.p_filesz(endian)),
            address: header.p_vaddr(endian),
            is_code: header.p_flags(endian).0 & PF_X.0 != 0,
        }
    };
    loaded.map(segment).collect()
}

impl CodeFile {
    /// A file of which nothing is known but its segments.
    pub fn of_segments(segments: &[Segment]) -> CodeFile {
        let code = segments.iter().filter(|segment| segment.is_code);
        CodeFile {
            code: code.map(|segment| (segment.bytes.clone(), segment.address)).collect(),
            lowest: segments.iter().map(|segment| segment.address).min().unwrap_or(0),
            ..CodeFile::default()
        }
    }

    /// The address that the file itself gives to the byte of code at `offset`.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let page = page_bytes() as u64;
        self.code.iter().find_map(|(bytes, address)| {
            let inside = offset >= bytes.start / page * page && offset < bytes.end;
            inside.then(|| address.wrapping_add(offset).wrapping_sub(bytes.start))
        })
    }

    /// The paths at which debug information that is kept in a file of its own may be, for a file at `path`: by its number, and by its
    /// name where gdb looks for that (gdb's manual, "Debugging Information in Separate Files").
    pub fn debug_paths(&self, path: &Path) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        if let Some((first, rest)) = self.build_id.split_first() {
            let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
            paths.push(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug").into());
        }
        if let (Some(name), Some(folder)) = (&self.debug_link, path.parent()) {
            let apart = Path::new("/usr/lib/debug").join(folder.strip_prefix("/").unwrap_or(folder));
            paths.extend([folder.join(name), folder.join(".debug").join(name), apart.join(name)]);
        }
        paths
    }
}

/// The sections of a file that the unwinder needs.
fn sections(elf: &Parsed<'_>, bytes: &Arc<Bytes>, lowest: u64) -> Sections {
    let section = |name| elf.section_by_name(name);
    let range = |name| section(name).map(|found| found.address()..found.address() + found.size());
    let data = |name| {
        let (start, size) = section(name)?.file_range()?;
        let start = usize::try_from(start).ok()?;
        Some(Part { bytes: bytes.clone(), part: start..start.checked_add(usize::try_from(size).ok()?)? })
    };
    ExplicitModuleSectionInfo {
        base_svma: lowest,
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        ..ExplicitModuleSectionInfo::default()
    }
}
