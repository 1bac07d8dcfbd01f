//! A deterministic workload on one thread, through Rust's door and C's: every kind of allocation, from 1 byte to 3.75
//! MiB, and jemalloc's own counters after it. Two programs run it, one over the tracker and one over plain jemalloc.
//!
//! With jemalloc's caches per thread off (`tcache:false`), all of its figures are the same in every run. With them, those
//! differ that tell what the caches fetch and give back, because that depends on addresses that the kernel chooses at
//! random; what lines with `live` and `requested` tell is the program's doing.
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ffi::{CString, c_void};

use tikv_jemalloc_sys as je;

/// C's door.
pub trait C {
    fn malloc(size: usize) -> *mut u8;
    fn calloc(count: usize, size: usize) -> *mut u8;
    fn aligned(alignment: usize, size: usize) -> *mut u8;
    /// # Safety
    /// `block` is live and came from this door; on success it is gone.
    unsafe fn realloc(block: *mut u8, size: usize) -> *mut u8;
    /// # Safety
    /// `block` is live and came from this door.
    unsafe fn free(block: *mut u8);
    /// # Safety
    /// `block` is live.
    unsafe fn usable(block: *mut u8) -> usize;
}

const SLOTS: usize = 5_000;
const STEPS: usize = 400_000;
const PAGE: usize = 4096;
/// jemalloc gives these out of slabs, where a block's place in its page follows from what came before it. Larger blocks
/// start at random places in their first page.
const SLAB_MAX: usize = 14_336;

/// `MALLCTL_ARENAS_ALL` of jemalloc.h.
const ALL_ARENAS: u32 = 4096;

#[derive(Clone, Copy)]
enum Block {
    Empty,
    Rust(*mut u8, Layout),
    C(*mut u8),
}

/// Sums and hashes over all blocks.
struct Seen {
    usable: u64,
    places: u64,
    misaligned: u64,
    reallocs: u64,
    in_place: u64,
}

impl Seen {
    fn block<D: C>(&mut self, block: *mut u8, size: usize, alignment: usize) {
        assert!(!block.is_null());
        // SAFETY: the block is live and has at least one byte.
        let usable = unsafe {
            block.write(1);
            D::usable(block)
        };
        assert!(usable >= size);
        self.usable = mixed(self.usable, usable);
        if usable <= SLAB_MAX {
            self.places = mixed(self.places, block.addr() % PAGE);
        }
        self.misaligned += u64::from(!block.addr().is_multiple_of(alignment));
    }

    fn realloc(&mut self, before: usize, after: *mut u8) {
        self.reallocs += 1;
        self.in_place += u64::from(before == after.addr());
    }
}

/// FNV-1a, a word at a time.
fn mixed(hash: u64, word: usize) -> u64 {
    (hash ^ word as u64).wrapping_mul(0x0000_0100_0000_01b3)
}

/// Runs the workload and prints its figures, one in a line.
pub fn run<D: C>() {
    // The first line allocates stdout's buffer, before the first reading of the counters.
    println!("counters of one thread's workload");
    let mut slots = vec![Block::Empty; SLOTS];
    let mut seen = Seen { usable: 0, places: 0, misaligned: 0, reallocs: 0, in_place: 0 };
    let mut counters = Counters::new();
    let before = counters.read();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..STEPS {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let random = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
        step::<D>(&mut slots[(random >> 16) as usize % SLOTS], random, &mut seen);
    }
    let (grown, grown_in_place) = (seen.reallocs, seen.in_place);
    grow::<D>(&mut seen);
    let during = counters.read();
    for slot in &mut slots {
        free::<D>(std::mem::replace(slot, Block::Empty));
    }
    let after = counters.read();
    println!("sizes {:016x}", seen.usable);
    println!("places of small blocks {:016x}", seen.places);
    println!("misaligned {}, reallocs {} of them in place {}", seen.misaligned, seen.reallocs, seen.in_place);
    println!("large reallocs {} of them in place {}", seen.reallocs - grown, seen.in_place - grown_in_place);
    counters.print("at the height", &before, &during);
    counters.print("at the end", &before, &after);
}

/// Large blocks that grow by turns, in each other's way and into the gaps between the blocks that are live.
fn grow<D: C>(seen: &mut Seen) {
    let mut blocks = [64 << 10; 6].map(|size| Block::C(D::malloc(size)));
    for size in (1..=40).map(|times| times * (96 << 10)) {
        for block in &mut blocks {
            *block = resized::<D>(*block, size, seen);
        }
    }
    blocks.into_iter().for_each(free::<D>);
}

/// Most below 128 bytes, some up to 8 KiB, few up to 1 MiB.
fn size(random: u64) -> usize {
    let spread = (random >> 32) as usize;
    match random % 64 {
        0..=39 => 1 + spread % 127,
        40..=55 => 128 + spread % 896,
        56..=62 => 1024 + spread % 7168,
        _ => 8192 + spread % (1 << 20),
    }
}

fn step<D: C>(slot: &mut Block, random: u64, seen: &mut Seen) {
    let size = size(random);
    let kind = (random >> 8) % 8;
    let alignment = if kind % 4 == 3 { 32 << ((random >> 12) % 7) } else { 8 };
    if let (Block::Rust(..) | Block::C(..), 0 | 4) = (*slot, kind) {
        *slot = resized::<D>(*slot, size, seen);
        return;
    }
    free::<D>(std::mem::replace(slot, Block::Empty));
    let layout = Layout::from_size_align(size, alignment).expect("a power of two");
    // SAFETY: the sizes are above 0.
    *slot = unsafe {
        match kind {
            0..=1 => Block::Rust(alloc(layout), layout),
            2 => Block::Rust(alloc_zeroed(layout), layout),
            3 => Block::Rust(alloc(layout), layout),
            4..=5 => Block::C(D::malloc(size)),
            6 => Block::C(D::calloc(1, size)),
            _ => Block::C(D::aligned(alignment, size)),
        }
    };
    match *slot {
        Block::Rust(block, _) | Block::C(block) => seen.block::<D>(block, size, alignment),
        Block::Empty => {}
    }
}

fn resized<D: C>(block: Block, size: usize, seen: &mut Seen) -> Block {
    match block {
        Block::Empty => Block::Empty,
        Block::Rust(block, layout) => {
            let before = block.addr();
            // SAFETY: the block is live and of this layout; the size is above 0.
            let block = unsafe { realloc(block, layout, size) };
            seen.realloc(before, block);
            seen.block::<D>(block, size, layout.align());
            Block::Rust(block, Layout::from_size_align(size, layout.align()).expect("a power of two"))
        }
        Block::C(block) => {
            let before = block.addr();
            // SAFETY: the block is live and came from this door.
            let block = unsafe { D::realloc(block, size) };
            seen.realloc(before, block);
            seen.block::<D>(block, size, 8);
            Block::C(block)
        }
    }
}

fn free<D: C>(block: Block) {
    match block {
        Block::Empty => {}
        // SAFETY: the slot's block is live, of this layout, and forgotten after this.
        Block::Rust(block, layout) => unsafe { dealloc(block, layout) },
        // SAFETY: the slot's block is live and forgotten after this.
        Block::C(block) => unsafe { D::free(block) },
    }
}

/// jemalloc's counters of one size class: its size, blocks made, blocks given back, blocks asked for.
#[derive(Clone, Copy)]
struct Class {
    size: usize,
    made: u64,
    gone: u64,
    requested: u64,
}

/// jemalloc's counters by name. The names and the room for readings are allocated before the first reading.
struct Counters {
    classes: Vec<[CString; 4]>,
    /// Room for the readings.
    room: [Vec<Class>; 3],
}

struct Reading {
    allocated: usize,
    classes: Vec<Class>,
}

impl Counters {
    fn new() -> Counters {
        let name = |text: String| CString::new(text).expect("no NUL");
        let class = |kind: &str, of: &str, index: u32| {
            let stat = |what| name(format!("stats.arenas.{ALL_ARENAS}.{kind}.{index}.{what}"));
            [name(format!("arenas.{of}.{index}.size")), stat("nmalloc"), stat("ndalloc"), stat("nrequests")]
        };
        let bins = read::<u32>(c"arenas.nbins");
        let large = read::<u32>(c"arenas.nlextents");
        let classes: Vec<[CString; 4]> = (0..bins)
            .map(|index| class("bins", "bin", index))
            .chain((0..large).map(|index| class("lextents", "lextent", index)))
            .collect();
        Counters { room: std::array::from_fn(|_| Vec::with_capacity(classes.len())), classes }
    }

    /// The counters of this moment.
    fn read(&mut self) -> Reading {
        let unused = self.room.iter_mut().find(|room| room.capacity() > 0);
        let mut classes = unused.map(std::mem::take).expect("at most three readings");
        let none = std::ptr::null_mut();
        // SAFETY: `thread.tcache.flush` takes and gives nothing; without a cache it fails, and there is nothing to flush.
        // `epoch` takes any u64.
        unsafe {
            je::mallctl(c"thread.tcache.flush".as_ptr(), none, none.cast(), none, 0);
            let mut epoch = 1u64;
            let value = (&raw mut epoch).cast::<c_void>();
            let epoch = c"epoch".as_ptr();
            assert_eq!(je::mallctl(epoch, std::ptr::null_mut(), std::ptr::null_mut(), value, size_of::<u64>()), 0);
        }
        for [size, made, gone, requested] in &self.classes {
            classes.push(Class { size: read(size), made: read(made), gone: read(gone), requested: read(requested) });
        }
        Reading { allocated: read(c"stats.allocated"), classes }
    }

    /// The differences between two readings.
    fn print(&self, when: &str, before: &Reading, after: &Reading) {
        println!("{when}: allocated {}", after.allocated as i64 - before.allocated as i64);
        for (before, after) in before.classes.iter().zip(&after.classes) {
            let (made, gone) = (after.made - before.made, after.gone - before.gone);
            if made + gone > 0 {
                println!("{when}: class {} made {made} gone {gone}", after.size);
            }
            let requested = after.requested - before.requested;
            if requested > 0 && after.size <= SLAB_MAX {
                println!("{when}: small class {} live {} requested {requested}", after.size, made as i64 - gone as i64);
            }
        }
    }
}

/// One of jemalloc's values.
fn read<T: Default>(name: &std::ffi::CStr) -> T {
    let mut value = T::default();
    let mut bytes = size_of::<T>();
    // SAFETY: jemalloc writes no more than `bytes`, and says when the value is of another size.
    let code = unsafe { je::mallctl(name.as_ptr(), (&raw mut value).cast(), &raw mut bytes, std::ptr::null_mut(), 0) };
    assert_eq!((code, bytes), (0, size_of::<T>()), "{name:?}");
    value
}
