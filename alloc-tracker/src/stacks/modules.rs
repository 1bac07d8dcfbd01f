//! What code is where, and how to go from each of its functions to the caller: made beforehand, and renewed by the
//! recorder, so that whoever takes a sample asks nobody.
//!
//! ```text
//! /proc/self/maps -> pieces of code, each of a file -> the file's own unwind tables, mapped a second time
//! ```
//!
//! The tables are read from the files and not where the loader has put them: a library may be unloaded while they are read.
//! The loader is not asked at all, so that its lock is in nobody's way. A frame is kept as the number of its file and the
//! address in that file, which mean the same when the library is long gone.
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use framehop::{ExplicitModuleSectionInfo, Module, MustNotAllocateDuringUnwind, Unwinder, UnwinderNative};
use object::elf::{PF_X, PT_LOAD};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection};

use super::unwind;

pub type Native = UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>;
type Elf = ElfFile64<'static, Endianness>;

/// Bits of a frame's address in its file; above them is the file's number.
const ADDRESS_BITS: u32 = 48;
const MAX_FILES: usize = 1 << (64 - ADDRESS_BITS);

/// A piece of code in memory: a line of `/proc/self/maps`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Piece {
    start: u64,
    end: u64,
    offset: u64,
    inode: String,
    path: PathBuf,
}

/// One version of the list. It never changes.
pub struct Current {
    pub unwinder: Native,
    /// Start, end, number of the file, and where the file's address 0 would be; by start.
    places: Vec<(u64, u64, u16, u64)>,
}

impl Current {
    /// The frame at an address; `None` when no file's code is there.
    pub fn frame(&self, address: u64) -> Option<u64> {
        let next = self.places.partition_point(|&(start, ..)| start <= address);
        let &(_, end, file, base) = self.places.get(next.checked_sub(1)?)?;
        let in_file = address.wrapping_sub(base) & ((1 << ADDRESS_BITS) - 1);
        (address < end).then_some(u64::from(file) << ADDRESS_BITS | in_file)
    }
}

/// Whoever takes a sample uses this version.
static CURRENT: AtomicPtr<Current> = AtomicPtr::new(ptr::null_mut());
/// Set when a sample met an address that no file on the list has.
static MISSED: AtomicBool = AtomicBool::new(false);

pub fn current() -> *const Current {
    CURRENT.load(Ordering::SeqCst)
}

pub fn missed() {
    MISSED.store(true, Ordering::Relaxed);
}

/// The keeper of the list, between two sessions. The files that it has mapped stay so.
static KEPT: Mutex<Option<Modules>> = Mutex::new(None);

/// After a renewal that found nothing new, the next waits for more ticks: code that is in no file is met again and again.
const MOST_PATIENCE: u32 = 100;

/// Keeps the list up to date.
#[derive(Default)]
pub struct Modules {
    pieces: HashMap<Piece, Option<(u16, u64)>>,
    files: Vec<(PathBuf, String, Option<&'static Elf>)>,
    unwinder: Native,
    /// Versions that somebody may still be using.
    retired: Vec<*mut Current>,
    /// Ticks until it is worth while to look again, and how many it was the last time.
    wait: u32,
    patience: u32,
}

// SAFETY: the pointers are to boxes that nobody but this value frees, and what they hold is read by any thread anyway.
unsafe impl Send for Modules {}

impl std::fmt::Debug for Modules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Modules").field("pieces", &self.pieces.len()).finish_non_exhaustive()
    }
}

impl Modules {
    /// Looks at what is loaded now.
    pub fn new() -> Self {
        // A forked child may find the lock held for ever: it begins anew.
        let mut modules = KEPT.try_lock().ok().and_then(|mut kept| kept.take()).unwrap_or_default();
        modules.renew();
        modules
    }

    /// Keeps the list for the next session.
    pub fn keep(self) {
        if let Ok(mut kept) = KEPT.try_lock() {
            *kept = Some(self);
        }
    }

    /// To be called on every tick: looks again when a sample has met unknown code, and now and then.
    pub fn tick(&mut self) {
        self.wait = self.wait.saturating_sub(1);
        if self.wait == 0 && MISSED.swap(false, Ordering::Relaxed) {
            self.patience = if self.renew() { 1 } else { (2 * self.patience).clamp(1, MOST_PATIENCE) };
            self.wait = self.patience;
        }
    }

    /// Looks again; whether anything has changed.
    fn renew(&mut self) -> bool {
        let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return false };
        let found: Vec<Piece> = maps.lines().filter_map(code).collect();
        let gone: Vec<Piece> = self.pieces.keys().filter(|piece| !found.contains(piece)).cloned().collect();
        let fresh: Vec<Piece> = found.into_iter().filter(|piece| !self.pieces.contains_key(piece)).collect();
        if gone.is_empty() && fresh.is_empty() && !current().is_null() && !self.pieces.is_empty() {
            return false;
        }
        for piece in gone {
            self.unwinder.remove_module(piece.start);
            self.pieces.remove(&piece);
        }
        for piece in fresh {
            let place = self.add(&piece);
            self.pieces.insert(piece, place);
        }
        self.publish();
        true
    }

    /// Adds a piece of code; gives its file's number, and where the file's address 0 would be.
    fn add(&mut self, piece: &Piece) -> Option<(u16, u64)> {
        let known = self.files.iter().position(|(path, inode, _)| *path == piece.path && *inode == piece.inode);
        let number = known.or_else(|| {
            let room = self.files.len() < MAX_FILES;
            room.then(|| self.files.push((piece.path.clone(), piece.inode.clone(), open(&piece.path))))?;
            Some(self.files.len() - 1)
        })?;
        let elf = self.files[number].2?;
        let base = piece.start.wrapping_sub(address_of(elf, piece.offset)?);
        let sections = sections(elf);
        self.unwinder.add_module(Module::new(String::new(), piece.start..piece.end, base, sections));
        Some((number as u16, base))
    }

    fn publish(&mut self) {
        let place = |(piece, &place): (&Piece, &Option<(u16, u64)>)| {
            place.map(|(file, base)| (piece.start, piece.end, file, base))
        };
        let mut places: Vec<_> = self.pieces.iter().filter_map(place).collect();
        places.sort_unstable();
        let next = Box::into_raw(Box::new(Current { unwinder: self.unwinder.clone(), places }));
        self.retired.push(CURRENT.swap(next, Ordering::SeqCst));
        self.retired.retain(|&old| {
            let used = !old.is_null() && unwind::uses(old);
            if !used && !old.is_null() {
                // SAFETY: the box is no longer CURRENT, so nobody begins to use it, and nobody does use it.
                drop(unsafe { Box::from_raw(old) });
            }
            used
        });
    }

    /// The path of the file of a frame, and the address in it.
    pub fn place(&self, frame: u64) -> Option<(&Path, u64)> {
        let (path, ..) = self.files.get((frame >> ADDRESS_BITS) as usize)?;
        Some((path, frame & ((1 << ADDRESS_BITS) - 1)))
    }

    /// Where the debug information of a frame's file would be if it is kept apart.
    pub fn debug_path(&self, frame: u64) -> Option<PathBuf> {
        let (.., elf) = self.files.get((frame >> ADDRESS_BITS) as usize)?;
        let id = elf.as_ref()?.build_id().ok()??;
        let (first, rest) = id.split_first()?;
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug").into())
    }
}

/// Bytes of a page: mappings begin at whole ones.
fn page_bytes() -> u64 {
    // SAFETY: sysconf only asks for a number.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Runs `test` with a list of what is loaded now, while no other test renews it.
#[cfg(test)]
pub fn with<T>(test: impl FnOnce(&Modules, &Current) -> T) -> T {
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let modules = Modules::new();
    // SAFETY: the version stays until it is replaced, which nobody else does meanwhile.
    test(&modules, unsafe { &*current() })
}

/// A line of `/proc/self/maps`, if it is of code in a file.
fn code(line: &str) -> Option<Piece> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let is_code = words.next()?.contains('x');
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (offset, device, inode) = (number(words.next()?)?, words.next()?, words.next()?);
    let path = words.next()?.trim_start();
    (is_code && path.starts_with('/')).then_some(Piece {
        start: number(start)?,
        end: number(end)?,
        offset,
        inode: format!("{device} {inode}"),
        path: path.into(),
    })
}

/// Maps a file for good and finds its parts; `None` when it cannot be read or is no program.
fn open(path: &Path) -> Option<&'static Elf> {
    let file = File::open(path).ok()?;
    let bytes = usize::try_from(file.metadata().ok()?.len()).ok().filter(|&bytes| bytes > 0)?;
    // SAFETY: a private mapping for reading, at an address of the kernel's choice, touches no existing memory.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is that long and is never unmapped. Nobody writes into a program's file while it runs, which would
    // break the program itself.
    let data = unsafe { std::slice::from_raw_parts(start.cast::<u8>().cast_const(), bytes) };
    Some(Box::leak(Box::new(Elf::parse(data).ok()?)))
}

/// The address in the file's own terms of the byte of code at `offset`.
fn address_of(elf: &Elf, offset: u64) -> Option<u64> {
    let (endian, page) = (elf.endian(), page_bytes());
    elf.elf_program_headers().iter().find_map(|header| {
        let is_code = header.p_type(endian) == PT_LOAD && header.p_flags(endian).0 & PF_X.0 != 0;
        let (start, address) = (header.p_offset(endian), header.p_vaddr(endian));
        let inside = offset >= start / page * page && offset < start + header.p_filesz(endian);
        (is_code && inside).then(|| address.wrapping_add(offset).wrapping_sub(start))
    })
}

fn sections(elf: &Elf) -> ExplicitModuleSectionInfo<&'static [u8]> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_code() {
        let line = "7f12345000-7f12346000 r-xp 00001000 fe:01 99    /lib/a lib.so";
        let piece = code(line).unwrap();
        assert_eq!((piece.start, piece.end, piece.offset), (0x7f12345000, 0x7f12346000, 0x1000));
        assert_eq!((piece.inode.as_str(), piece.path.to_str()), ("fe:01 99", Some("/lib/a lib.so")));
        assert_eq!(code("7f12345000-7f12346000 r--p 00001000 fe:01 99   /lib/a.so"), None);
        assert_eq!(code("7f12345000-7f12346000 r-xp 00000000 00:00 0    [vdso]"), None);
        assert_eq!(code("7f12345000-7f12346000 r-xp 00000000 00:00 0 "), None);
    }

    #[test]
    fn this_functions_own_frame_is_in_this_program() {
        with(|modules, current| {
            let frame = current.frame(a_line_of_code as *const () as u64).unwrap();
            let program = std::env::current_exe().unwrap();
            assert_eq!(modules.place(frame).map(|(path, _)| path), Some(program.as_path()));
            assert_eq!(current.frame(8), None);
        });
    }
}
