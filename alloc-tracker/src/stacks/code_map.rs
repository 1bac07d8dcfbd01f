//! The code map: which file's code is where in memory, and how to get from each function to its caller. The recorder
//! makes it beforehand (`modules.rs`), so that a thread that takes a sample needs neither the dynamic loader nor a
//! file.
//!
//! At any time one code map is the current one. A map never changes; a newer map replaces it. A thread that takes a
//! sample *pins* the current map, and an old map is freed when no thread has it pinned (hazard pointers: Michael,
//! "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", 2004).
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use framehop::{MustNotAllocateDuringUnwind, UnwinderNative};

use super::elf::Part;
use super::index::Index;

/// The unwinder of this machine's architecture.
pub type Native = UnwinderNative<Part, MustNotAllocateDuringUnwind>;

/// A frame is a number of 64 bits: in this many low bits the address within its file, above them the file's number.
pub const ADDRESS_BITS: u32 = 48;

/// A range of memory that holds code of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// The first address.
    pub start: u64,
    /// The address after the last one.
    pub end: u64,
    /// The number of the file.
    pub file: u16,
    /// The memory address that corresponds to address 0 of the file.
    pub base: u64,
}

/// Whether a file's unwind tables have one for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// There is no file there, or one without an index of its tables.
    NoneInFile,
    /// Its file has tables, but none for the function there.
    NoneHere,
    /// There is a table for the function there, which begins at this address.
    Of(u64),
}

/// What is known about the code in memory at one time, see the module.
pub struct CodeMap {
    /// Finds the callers of functions in all of the ranges.
    pub unwinder: Native,
    /// The ranges, sorted by start.
    pub ranges: Vec<Range>,
    /// Of each of them the index of its file's unwind tables, if it has one.
    indexes: Vec<Option<Index>>,
    /// The addresses of code that is in no file, in order.
    others: Vec<std::ops::Range<u64>>,
    /// The map's generation: what [`generation`] returns while it is the current map. [`Retired::replace_current`] sets it.
    generation: u32,
}

impl CodeMap {
    /// A map that is not the current one yet.
    pub fn new(unwinder: Native, mut ranges: Vec<(Range, Option<Index>)>, others: Vec<std::ops::Range<u64>>) -> Self {
        ranges.sort_unstable_by_key(|(range, _)| *range);
        let (ranges, indexes) = ranges.into_iter().unzip();
        CodeMap { unwinder, ranges, indexes, others, generation: 0 }
    }

    /// The map's generation, see [`generation`].
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The frame at an address in memory (see [`ADDRESS_BITS`]); it keeps its meaning after the library is unloaded.
    /// `None` when no file's code is there.
    pub fn frame(&self, address: u64) -> Option<u64> {
        let range = &self.ranges[self.range_of(address)?];
        let in_file = address.wrapping_sub(range.base) & ((1 << ADDRESS_BITS) - 1);
        Some(u64::from(range.file) << ADDRESS_BITS | in_file)
    }

    /// Which range an address lies in.
    fn range_of(&self, address: u64) -> Option<usize> {
        let before = self.ranges.partition_point(|range| range.start <= address).checked_sub(1)?;
        (address < self.ranges[before].end).then_some(before)
    }

    /// Whether there is an unwind table for the function at an address.
    pub fn coverage_at(&self, address: u64) -> Coverage {
        let Some(number) = self.range_of(address) else { return Coverage::NoneInFile };
        let Some(index) = &self.indexes[number] else { return Coverage::NoneInFile };
        let base = self.ranges[number].base;
        match index.function(address.wrapping_sub(base)) {
            Some(begin) => Coverage::Of(begin.wrapping_add(base)),
            None => Coverage::NoneHere,
        }
    }

    /// Whether there is code at an address of which it is known that it is in no file.
    pub fn is_without_file(&self, address: u64) -> bool {
        let next = self.others.partition_point(|range| range.start <= address);
        next.checked_sub(1).is_some_and(|before| self.others[before].contains(&address))
    }
}

/// How many threads can take a sample at the same time.
pub const READERS: usize = 8;

/// The current map; null before the first.
static CURRENT: AtomicPtr<CodeMap> = AtomicPtr::new(ptr::null_mut());
/// See [`generation`].
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// The map that each reader has pinned; null for none.
static PINNED: [AtomicPtr<CodeMap>; READERS] = [const { AtomicPtr::new(ptr::null_mut()) }; READERS];
/// See [`doubt`] and [`trust`].
static UNLOADS: AtomicU64 = AtomicU64::new(0);
static TRUSTED: AtomicU64 = AtomicU64::new(0);
/// Set when a sample found an address that is in no range.
static MISSED: AtomicBool = AtomicBool::new(false);
/// See [`note_without_file`].
static WITHOUT_FILE: AtomicBool = AtomicBool::new(false);

/// Pins the current map for a reader, until [`unpin`]; `None` before there is a map. One thread at a time may use a
/// reader number.
pub fn pin(reader: usize) -> Option<&'static CodeMap> {
    let mut map = CURRENT.load(Ordering::SeqCst);
    loop {
        PINNED[reader].store(map, Ordering::SeqCst);
        let current = CURRENT.load(Ordering::SeqCst);
        if ptr::eq(current, map) {
            // SAFETY: the pointer is null or a map that was still current after it was pinned;
            // `Retired::replace_current` frees no map that is current or pinned.
            return unsafe { map.as_ref() };
        }
        map = current;
    }
}

/// Ends what [`pin`] began. The reader must not use the map any more.
pub fn unpin(reader: usize) {
    PINNED[reader].store(ptr::null_mut(), Ordering::SeqCst);
}

/// The generation of the current map, counted from 1 on; 0 before there is a map. It changes when the current map takes back something that the
/// one before it said. What was found out about code holds as long as the generation stays: maps of one generation differ only by code that a
/// later one knows and an earlier one does not.
#[inline]
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Acquire)
}

/// Whether there is a current map.
pub fn is_there() -> bool {
    !CURRENT.load(Ordering::SeqCst).is_null()
}

/// Notes that a sample found an address that is in no range.
pub fn note_missed() {
    MISSED.store(true, Ordering::Relaxed);
}

/// Notes that a sample found an address of which the current map says that there is code of no file. Other code may be there by now.
pub fn note_without_file() {
    WITHOUT_FILE.store(true, Ordering::Relaxed);
}

/// Whether [`note_without_file`] was called since the last call of this.
pub fn take_without_file() -> bool {
    WITHOUT_FILE.swap(false, Ordering::Relaxed)
}

/// Whether [`note_missed`] was called since the last call of this.
pub fn take_missed() -> bool {
    MISSED.swap(false, Ordering::Relaxed)
}

/// Notes that code was unloaded. Other code may be in its place, and its file may be written to. So there are no stacks until a code map is
/// made that knows: see [`trust`].
pub fn doubt() {
    UNLOADS.fetch_add(1, Ordering::SeqCst);
}

/// How many times [`doubt`] was called.
pub fn unloads() -> u64 {
    UNLOADS.load(Ordering::SeqCst)
}

/// Whether code was unloaded of which the current map says something.
#[inline]
pub fn is_doubted() -> bool {
    UNLOADS.load(Ordering::Acquire) != TRUSTED.load(Ordering::Acquire)
}

/// Notes that the current map was made after so many calls of [`doubt`].
pub fn trust(unloads: u64) {
    TRUSTED.store(unloads, Ordering::SeqCst);
}

/// Maps that are no longer current, but may still be pinned.
#[derive(Default)]
pub struct Retired(Vec<*mut CodeMap>);

// SAFETY: only this value frees the boxes behind the pointers, and a code map may be read and dropped by any thread.
unsafe impl Send for Retired {}

impl Retired {
    /// Makes `map` the current one, and frees the former ones that are not pinned. `only_adds`: the map says what the former one says, of
    /// all code that that one knows.
    pub fn replace_current(&mut self, map: CodeMap, only_adds: bool) {
        let generation = generation().wrapping_add(u32::from(!only_adds));
        let map = Box::into_raw(Box::new(CodeMap { generation, ..map }));
        self.0.push(CURRENT.swap(map, Ordering::SeqCst));
        GENERATION.store(generation, Ordering::Release);
        self.0.retain(|&old| {
            let pinned = !old.is_null() && PINNED.iter().any(|pinned| ptr::eq(pinned.load(Ordering::SeqCst), old));
            if !pinned && !old.is_null() {
                // SAFETY: the box is no longer current, so `pin` returns it to no further reader, and no reader has it
                // pinned.
                drop(unsafe { Box::from_raw(old) });
            }
            pinned
        });
    }
}
