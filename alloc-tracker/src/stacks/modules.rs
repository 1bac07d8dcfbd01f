//! Keeps the code map up to date with the code that is loaded. The recorder does this between two ticks.
//!
//! ```text
//! /proc/self/maps -> mappings with code, each of a file -> the file's own unwind tables, mapped a second time -> code map
//!                 \-> mappings with code of no file (a just-in-time compiler's, the kernel's) --------------------^
//! ```
//!
//! The tables are read from the files and not from where the loader has mapped them, because a library may be unloaded
//! while they are read. The loader is not called at all, so no thread has to wait for its lock.
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Mutex;

use framehop::{Module, Unwinder};

use super::code_map::{self, ADDRESS_BITS, CodeMap, Native, Range, Retired};
use super::elf::{self, CodeFile, Stamp};
use super::index::Index;
use super::interpreter::NO_FILE;
use super::loaded::loaded;
use super::mapped::{Inode, Piece, mapped};

/// The number of files; file numbers are below it.
const MAX_FILES: usize = NO_FILE as usize;

/// The modules between two sessions.
static KEPT: Mutex<Option<Modules>> = Mutex::new(None);

/// The most ticks between two renewals. The wait doubles after a renewal that found nothing new: code that is in no
/// file (a just-in-time compiler's) would otherwise cause a renewal on every tick.
const MOST_PATIENCE: u32 = 100;

/// A file that has or had code in this process.
#[derive(Debug)]
pub struct KnownFile {
    /// Its number.
    pub number: u16,
    /// Where it was when it was opened.
    pub path: PathBuf,
    inode: Inode,
    /// As it was opened.
    pub stamp: Stamp,
    /// What is kept of it; `None` where it is unusable.
    pub elf: Option<CodeFile>,
}

/// What is known of a piece.
#[derive(Clone, Debug)]
struct KnownPiece {
    /// The number of its file.
    file: u16,
    /// The memory address of the file's address 0.
    base: u64,
    index: Option<Index>,
}

/// The loaded code as of the last renewal, see the module.
#[derive(Default)]
pub struct Modules {
    /// What is known of each mapping; nothing if its file is unusable.
    pieces: HashMap<Piece, Option<KnownPiece>>,
    /// The files, by their numbers.
    files: Vec<KnownFile>,
    /// See [`Mapped`].
    others: Vec<std::ops::Range<u64>>,
    /// The unwinder for the next code map.
    unwinder: Native,
    retired: Retired,
    /// Ticks until the next renewal is allowed.
    wait: u32,
    /// The wait after the last renewal, in ticks.
    patience: u32,
    /// Ticks since the last renewal.
    idle: u32,
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

    /// To be called on every tick. Renews the code map when code was unloaded, or a sample has found unknown code, unless a renewal was just
    /// now.
    pub fn tick(&mut self) {
        self.wait = self.wait.saturating_sub(1);
        self.idle += 1;
        // Where there was code of no file, a library may be by now.
        let may_be_old = || self.idle >= MOST_PATIENCE && code_map::take_without_file();
        if code_map::is_doubted() || may_be_old() {
            self.renew();
        } else if self.wait == 0 && code_map::take_missed() {
            self.patience = if self.renew() { 1 } else { (2 * self.patience).clamp(1, MOST_PATIENCE) };
            self.wait = self.patience;
        }
    }

    /// Brings the modules and the code map up to date. Returns whether the code of a file is there that was not, or is gone.
    fn renew(&mut self) -> bool {
        self.idle = 0;
        let (unloads, in_doubt) = (code_map::unloads(), code_map::is_doubted());
        let Ok(found) = File::open("/proc/self/maps").map(BufReader::new).and_then(mapped) else { return false };
        // Where one library was unloaded and another loaded in its place, the file alone may tell the two apart; one that has no name any more
        // is looked at again.
        let is_gone = |piece: &&Piece| match found.pieces.get(piece) {
            Some(at_its_path) => in_doubt && (!at_its_path || self.has_changed(piece)),
            None => true,
        };
        let gone: Vec<Piece> = self.pieces.keys().filter(is_gone).cloned().collect();
        let is_empty = self.pieces.is_empty();
        for piece in &gone {
            self.unwinder.remove_module(piece.start);
            self.pieces.remove(piece);
        }
        let fresh = found.pieces.into_iter().filter(|(piece, _)| !self.pieces.contains_key(piece));
        let fresh: Vec<(Piece, bool)> = fresh.collect();
        let is_same = gone.is_empty() && fresh.is_empty() && code_map::is_there() && !is_empty;
        if !is_same || found.others != self.others {
            for (piece, at_its_path) in fresh {
                let begin = found.begins.iter().filter(|(inode, begin)| *inode == piece.inode && *begin <= piece.start);
                let begin = begin.map(|(_, begin)| *begin).max().filter(|_| !at_its_path);
                let place = self.add(&piece, begin);
                self.pieces.insert(piece, place);
            }
            self.others = found.others;
            // A program that starts loads one library after the other.
            self.publish(gone.is_empty() && !is_empty);
        }
        code_map::trust(unloads);
        !is_same
    }

    /// Whether the file of a known piece was written to since it was opened.
    fn has_changed(&self, piece: &Piece) -> bool {
        let place = self.pieces.get(piece).and_then(Option::as_ref);
        let known = place.and_then(|place| self.files.get(usize::from(place.file)));
        known.is_none_or(|known| Stamp::of(&known.path).is_some_and(|now| now != known.stamp))
    }

    /// Adds a mapping. `begin`: where the first byte of its file is mapped, if that is at its path no more.
    fn add(&mut self, piece: &Piece, begin: Option<u64>) -> Option<KnownPiece> {
        let opened = begin.map_or_else(|| elf::open(&piece.path), loaded);
        let (stamp, path, inode) =
            (opened.as_ref().map(|opened| opened.stamp).unwrap_or_default(), &piece.path, piece.inode);
        let is_it = |known: &KnownFile| known.path == *path && known.inode == inode && known.stamp == stamp;
        let number = self.files.iter().position(is_it).or_else(|| {
            let elf = opened.as_ref().map(|opened| opened.file.clone());
            let room = self.files.len() < MAX_FILES;
            let number = self.files.len();
            room.then(|| self.files.push(KnownFile { number: number as u16, path: path.clone(), inode, stamp, elf }))?;
            Some(number)
        })?;
        let opened = opened?;
        let base = piece.start.wrapping_sub(opened.file.address_of(piece.offset)?);
        let lowest = base.wrapping_add(opened.file.lowest);
        let index = Index::new(&opened.sections);
        self.unwinder.add_module(Module::new(String::new(), piece.start..piece.end, lowest, opened.sections));
        Some(KnownPiece { file: number as u16, base, index })
    }

    /// Makes a new current code map. `only_adds`: it says the same of all code that the current one knows.
    fn publish(&mut self, only_adds: bool) {
        let range = |(piece, place): (&Piece, &Option<KnownPiece>)| {
            let &KnownPiece { file, base, ref index } = place.as_ref()?;
            Some((Range { start: piece.start, end: piece.end, file, base }, index.clone()))
        };
        let ranges = self.pieces.iter().filter_map(range).collect();
        let unusable = self.pieces.iter().filter(|(_, place)| place.is_none()).map(|(piece, _)| piece.start..piece.end);
        let mut others: Vec<_> = self.others.iter().cloned().chain(unusable).collect();
        others.sort_unstable_by_key(|range| range.start);
        self.retired.replace_current(CodeMap::new(self.unwinder.clone(), ranges, others), only_adds);
    }

    /// A frame's file, and the address in that file.
    pub fn place(&self, frame: u64) -> Option<(&KnownFile, u64)> {
        let file = self.files.get((frame >> ADDRESS_BITS) as usize)?;
        Some((file, frame & ((1 << ADDRESS_BITS) - 1)))
    }
}

impl KnownFile {
    /// Whether the file at its path is still the one that was opened: by the linker's number, where it has one.
    pub fn is_there_still(&self) -> bool {
        let Some(known) = self.elf.as_ref() else { return false };
        if known.build_id.is_empty() {
            return Stamp::of(&self.path) == Some(self.stamp);
        }
        elf::look_at(&self.path).is_some_and(|file| file.build_id == known.build_id)
    }

    /// The file that has the debug information of this one, if that is kept in a file of its own: a file with the same number.
    pub fn debug_path(&self) -> Option<PathBuf> {
        let known = self.elf.as_ref().filter(|known| !known.build_id.is_empty())?;
        let is_its = |path: &PathBuf| elf::look_at(path).is_some_and(|file| file.build_id == known.build_id);
        known.debug_paths(&self.path).into_iter().find(is_its)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_functions_own_frame_is_in_this_program() {
        with_modules(|modules, map| {
            let frame = map.frame(this_functions_own_frame_is_in_this_program as *const () as u64).unwrap();
            let program = std::env::current_exe().unwrap();
            assert_eq!(modules.place(frame).map(|(file, _)| &file.path), Some(&program));
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
