//! The pool of slots. A thread that ends gives its slot back, and a later thread takes it over: 10,000 threads that run
//! one after another need as much memory as one.
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use super::slot::Slot;
use crate::sys;

const SLOTS_PER_BLOCK: usize = 64;
const MAX_BLOCKS: usize = 2048;
const MAX_SLOTS: usize = SLOTS_PER_BLOCK * MAX_BLOCKS;

static BLOCKS: [AtomicPtr<Slot>; MAX_BLOCKS] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX_BLOCKS];
/// How many slots have ever been handed out: those with an index below this.
static USED: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST_LIVE: AtomicUsize = AtomicUsize::new(0);
/// Head of the list of free slots: index + 1 of the first one in the low half (0: none), and in the high half a counter
/// of changes, without which a compare-exchange could mistake a new head for the old one (the ABA problem).
static FREE: AtomicU64 = AtomicU64::new(0);

/// The slots that belong to a thread now, or did before.
pub fn all_slots() -> impl Iterator<Item = &'static Slot> {
    (0..USED.load(Ordering::Acquire).min(MAX_SLOTS)).filter_map(slot_at)
}

/// The slots that belong to a thread now.
pub fn live_slots() -> impl Iterator<Item = &'static Slot> {
    all_slots().filter(|slot| slot.taken.load(Ordering::Acquire) != 0)
}

/// How many blocks of the program's have been resized by threads with a slot, including threads that have ended.
pub fn resized() -> u64 {
    all_slots().map(Slot::resized).sum()
}

/// The most threads that had a slot at one time.
pub fn most_threads() -> usize {
    MOST_LIVE.load(Ordering::Relaxed)
}

fn slot_at(index: usize) -> Option<&'static Slot> {
    let block = BLOCKS.get(index / SLOTS_PER_BLOCK)?.load(Ordering::Acquire);
    if block.is_null() {
        return None;
    }
    // SAFETY: a block is a mapping of zeroes for SLOTS_PER_BLOCK slots (`take_free`), which stays for ever. The fields
    // of a slot are atomics, cells of numbers and raw pointers, for all of which zero is a value.
    Some(unsafe { &*block.add(index % SLOTS_PER_BLOCK) })
}

/// A slot for a new thread; `None` when the kernel gives no memory, or when all slots are taken.
pub fn take() -> Option<&'static Slot> {
    let slot = take_free()?;
    MOST_LIVE.fetch_max(LIVE.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    Some(slot)
}

fn take_free() -> Option<&'static Slot> {
    loop {
        let head = FREE.load(Ordering::Acquire);
        let Some(index) = (head as u32).checked_sub(1) else { break };
        let slot = slot_at(index as usize)?;
        let next = u64::from(slot.next_free.load(Ordering::Relaxed));
        let new = ((head >> 32).wrapping_add(1) << 32) | next;
        if FREE.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some(slot);
        }
    }
    let index = USED.fetch_add(1, Ordering::AcqRel);
    let block = BLOCKS.get(index / SLOTS_PER_BLOCK)?;
    sys::get_or_map(block, SLOTS_PER_BLOCK * size_of::<Slot>());
    let slot = slot_at(index)?;
    slot.index.store(index as u32, Ordering::Relaxed);
    Some(slot)
}

/// In a forked child: the slot's thread does not exist here. Nobody gets the slot, since the thread may have been in the middle of a change of it.
pub fn abandon(slot: &Slot) {
    slot.taken.store(0, Ordering::Relaxed);
    LIVE.fetch_sub(1, Ordering::Relaxed);
}

/// In a forked child: the most threads of the parent's are not those of the child's.
pub fn count_anew() {
    MOST_LIVE.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Gives back the slot of a thread that ends.
pub fn give_back(slot: &'static Slot) {
    slot.taken.store(0, Ordering::Release);
    LIVE.fetch_sub(1, Ordering::Relaxed);
    let index = u64::from(slot.index.load(Ordering::Relaxed));
    loop {
        let head = FREE.load(Ordering::Acquire);
        slot.next_free.store(head as u32, Ordering::Relaxed);
        let new = ((head >> 32).wrapping_add(1) << 32) | (index + 1);
        if FREE.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return;
        }
    }
}
