//! Keeps the code map up to date with the code that is loaded. The recorder does this between two ticks.
//!
//! ```text
//! /proc/self/maps -> mappings with code, each of a file -> the file's own unwind tables, mapped a second time -> code map
//! ```
//!
//! The tables are read from the files and not from where the loader has mapped them, because a library may be unloaded
//! while they are read. The loader is not called at all, so no thread has to wait for its lock.
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use framehop::{Module, Unwinder};
use procfs_core::FromBufRead;
use procfs_core::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps};

use super::code_map::{self, ADDRESS_BITS, CodeMap, Native, Range, Retired};
use super::elf::{self, Elf};
use super::interpreter::NO_FILE;

/// The number of files; file numbers are below it.
const MAX_FILES: usize = NO_FILE as usize;

/// A mapping with code: a line of `/proc/self/maps`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Piece {
    start: u64,
    end: u64,
    offset: u64,
    /// Major and minor number of the device, and the inode on it.
    inode: Inode,
    path: PathBuf,
}

type Inode = (i32, i32, u64);

/// The modules between two sessions. (Their files stay mapped.)
static KEPT: Mutex<Option<Modules>> = Mutex::new(None);

/// The most ticks between two renewals. The wait doubles after a renewal that found nothing new: code that is in no
/// file (a just-in-time compiler's) would otherwise cause a renewal on every tick.
const MOST_PATIENCE: u32 = 100;

/// The loaded code as of the last renewal, see the module.
#[derive(Default)]
pub struct Modules {
    /// The number of each mapping's file, and the memory address of the file's address 0; `None` if the file is
    /// unusable.
    pieces: HashMap<Piece, Option<(u16, u64)>>,
    /// Path, device and inode, and parsed bytes of each file, by its number.
    files: Vec<(PathBuf, Inode, Option<&'static Elf>)>,
    /// The unwinder for the next code map.
    unwinder: Native,
    retired: Retired,
    /// Ticks until the next renewal is allowed.
    wait: u32,
    /// The wait after the last renewal, in ticks.
    patience: u32,
}

impl std::fmt::Debug for Modules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Modules").field("pieces", &self.pieces.len()).finish_non_exhaustive()
    }
}

impl Modules {
    /// The modules of a session that begins: those of the session before, brought up to date.
    pub fn new() -> Self {
        // In a forked child the lock may be held for ever. The child then starts without the kept modules.
        let mut modules = KEPT.try_lock().ok().and_then(|mut kept| kept.take()).unwrap_or_default();
        modules.renew();
        modules
    }

    /// Keeps the modules for the next session.
    pub fn keep(self) {
        if let Ok(mut kept) = KEPT.try_lock() {
            *kept = Some(self);
        }
    }

    /// To be called on every tick. Renews the code map when a sample has found unknown code, unless a renewal was just
    /// now.
    pub fn tick(&mut self) {
        self.wait = self.wait.saturating_sub(1);
        if self.wait == 0 && code_map::take_missed() {
            self.patience = if self.renew() { 1 } else { (2 * self.patience).clamp(1, MOST_PATIENCE) };
            self.wait = self.patience;
        }
    }

    /// Brings the modules and the code map up to date. Returns whether anything has changed.
    fn renew(&mut self) -> bool {
        let Ok(found) = File::open("/proc/self/maps").map(BufReader::new).and_then(pieces) else { return false };
        let gone: Vec<Piece> = self.pieces.keys().filter(|&piece| !found.contains(piece)).cloned().collect();
        let fresh: Vec<Piece> = found.into_iter().filter(|piece| !self.pieces.contains_key(piece)).collect();
        if gone.is_empty() && fresh.is_empty() && code_map::is_there() && !self.pieces.is_empty() {
            return false;
        }
        // A program that starts loads one library after the other.
        let only_adds = gone.is_empty() && !self.pieces.is_empty();
        for piece in gone {
            self.unwinder.remove_module(piece.start);
            self.pieces.remove(&piece);
        }
        for piece in fresh {
            let place = self.add(&piece);
            self.pieces.insert(piece, place);
        }
        self.publish(only_adds);
        true
    }

    /// Adds a mapping. Returns its file's number, and the memory address of the file's address 0.
    fn add(&mut self, piece: &Piece) -> Option<(u16, u64)> {
        let known = self.files.iter().position(|(path, inode, _)| *path == piece.path && *inode == piece.inode);
        let number = known.or_else(|| {
            let room = self.files.len() < MAX_FILES;
            room.then(|| self.files.push((piece.path.clone(), piece.inode, elf::open(&piece.path))))?;
            Some(self.files.len() - 1)
        })?;
        let file = self.files[number].2?;
        let base = piece.start.wrapping_sub(elf::address_of(file, piece.offset)?);
        let sections = elf::sections(file);
        self.unwinder.add_module(Module::new(String::new(), piece.start..piece.end, base, sections));
        Some((number as u16, base))
    }

    /// Makes a new current code map. `only_adds`: it says the same of all code that the current one knows.
    fn publish(&mut self, only_adds: bool) {
        let range = |(piece, &place): (&Piece, &Option<(u16, u64)>)| {
            place.map(|(file, base)| Range { start: piece.start, end: piece.end, file, base })
        };
        let mut ranges: Vec<_> = self.pieces.iter().filter_map(range).collect();
        ranges.sort_unstable();
        self.retired.replace_current(CodeMap::new(self.unwinder.clone(), ranges), only_adds);
    }

    /// The path of a frame's file, and the address in that file.
    pub fn place(&self, frame: u64) -> Option<(&Path, u64)> {
        let (path, ..) = self.files.get((frame >> ADDRESS_BITS) as usize)?;
        Some((path, frame & ((1 << ADDRESS_BITS) - 1)))
    }

    /// The path at which the debug information of a frame's file would be, if it is kept in a file of its own.
    pub fn debug_path(&self, frame: u64) -> Option<PathBuf> {
        let (.., file) = self.files.get((frame >> ADDRESS_BITS) as usize)?;
        elf::debug_path((*file)?)
    }
}

/// Keeps other tests from renewing the modules.
#[cfg(test)]
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs `test` with the present modules and code map, while no other test renews them.
#[cfg(test)]
pub fn with_modules<T>(test: impl FnOnce(&Modules, &CodeMap) -> T) -> T {
    let _alone = alone();
    let modules = Modules::new();
    let map = code_map::pin(code_map::READERS - 1).expect("a code map");
    let result = test(&modules, map);
    code_map::unpin(code_map::READERS - 1);
    result
}

/// The pieces of code in a text like /proc/self/maps. Most lines are of mappings without code, and are not taken apart.
///
/// # Errors
/// What could not be read, or is not such a text.
fn pieces(mut maps: impl BufRead) -> io::Result<HashSet<Piece>> {
    let (mut with_code, mut line) = (Vec::new(), Vec::new());
    while maps.read_until(b'\n', &mut line)? > 0 {
        // The second column, such as `r-xp`.
        let is_code = line.split(|byte| *byte == b' ').nth(1).is_some_and(|permissions| permissions.contains(&b'x'));
        if is_code {
            with_code.extend_from_slice(&line);
        }
        line.clear();
    }
    let maps = MemoryMaps::from_buf_read(&with_code[..]).map_err(io::Error::other)?;
    Ok(maps.iter().filter_map(code).collect())
}

/// The mapping as a piece of code, if it holds code of a file.
fn code(map: &MemoryMap) -> Option<Piece> {
    let MMapPath::Path(path) = &map.pathname else { return None };
    map.perms.contains(MMPermissions::EXECUTE).then(|| Piece {
        start: map.address.0,
        end: map.address.1,
        offset: map.offset,
        inode: (map.dev.0, map.dev.1, map.inode),
        path: path.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_an_executable_mapping_of_a_file() {
        let text = "7f12345000-7f12346000 r-xp 00001000 fe:01 99    /lib/a lib.so\n\
                    7f12346000-7f12347000 r--p 00001000 fe:01 99    /lib/a.so\n\
                    7f12347000-7f12348000 r-xp 00000000 00:00 0     [vdso]\n\
                    7f12348000-7f12349000 r-xp 00000000 00:00 0 \n";
        let found: Vec<Piece> = pieces(text.as_bytes()).unwrap().into_iter().collect();
        let [piece] = &found[..] else { panic!("{found:?}") };
        assert_eq!((piece.start, piece.end, piece.offset), (0x7f12345000, 0x7f12346000, 0x1000));
        assert_eq!((piece.inode, piece.path.to_str()), ((0xfe, 1, 99), Some("/lib/a lib.so")));
    }

    #[test]
    fn this_functions_own_frame_is_in_this_program() {
        with_modules(|modules, map| {
            let frame = map.frame(code_is_an_executable_mapping_of_a_file as *const () as u64).unwrap();
            let program = std::env::current_exe().unwrap();
            assert_eq!(modules.place(frame).map(|(path, _)| path), Some(program.as_path()));
            assert_eq!(map.frame(8), None);
        });
    }

    /// What is known of code holds when a library is loaded, and not when one is unloaded.
    #[test]
    fn a_library_more_leaves_the_number_and_one_less_changes_it() {
        let _alone = alone();
        let mut modules = Modules::new();
        let before = code_map::generation();
        // SAFETY: a library of glibc's, which does nothing as it is loaded and unloaded.
        let library = unsafe { libc::dlopen(c"libresolv.so.2".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "glibc has this library");
        assert!(modules.renew(), "there is code that was not there");
        assert_eq!(code_map::generation(), before);
        // SAFETY: the library was loaded above, and nobody uses it.
        assert_eq!(unsafe { libc::dlclose(library) }, 0);
        assert!(modules.renew(), "code is gone");
        assert_eq!(code_map::generation(), before + 1);
        assert!(!modules.renew());
        assert_eq!(code_map::generation(), before + 1);
    }
}
