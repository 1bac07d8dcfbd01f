//! The table of stacks: each sequence of frames has a number and is kept once.
//!
//! ```text
//! index[hash] -> number -> (start, length) -> frames, one after the other
//! ```
//!
//! Places of the index are tried in the order of `places`. Numbers, frames and index entries are only ever added, without a lock. Two
//! threads that add one stack at the same moment may give it two numbers; sums over samples are right all the same. A stack that finds no
//! room gets [`NO_STACK`]. The tables are mapped when the first stack is added, and their pages become resident when touched.
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::{places, sys};

/// In place of a stack's number: the sample's calls could not be found or kept.
pub const NO_STACK: u32 = 0;
/// The number of stacks; their numbers are below it.
const MAX_STACKS: usize = 1 << 16;
const INDEX: usize = 2 * MAX_STACKS;
/// The number of frames of all stacks together: 64 for each stack, 32 MiB when all are used.
const MAX_FRAMES: usize = 64 * MAX_STACKS;
/// How many places of the index are tried for one stack.
const TRIES: usize = 128;
/// A stack is a number of 64 bits: in this many low bits the index of its first frame, above them its length.
const START_BITS: u32 = 48;
/// Flag in a stack's length: there were more calls than were kept.
const CUT: u64 = 1 << 15;

#[repr(C)]
struct Tables {
    /// By hash: the upper half of a stack's hash, and the stack's number in the lower half; 0 for an unused place.
    index: [AtomicU64; INDEX],
    /// By number: the start and the length of a stack; 0 for an unused number.
    stacks: [AtomicU64; MAX_STACKS],
    frames: [AtomicU64; MAX_FRAMES],
}

static TABLES: AtomicPtr<Tables> = AtomicPtr::new(ptr::null_mut());
/// The next number.
static STACKS: AtomicUsize = AtomicUsize::new(NO_STACK as usize + 1);
/// How many frames are in use.
static FRAMES: AtomicUsize = AtomicUsize::new(0);

fn tables() -> Option<&'static Tables> {
    // SAFETY: the pointer is null or a mapping of zeroes of this size (`tables_or_map`), which is never unmapped once
    // it stands here; all fields are atomics, for which zero is a value.
    unsafe { TABLES.load(Ordering::Acquire).as_ref() }
}

fn tables_or_map() -> Option<&'static Tables> {
    sys::get_or_map(&TABLES, size_of::<Tables>());
    tables()
}

/// The addresses that the tables occupy; `None` before they are mapped.
pub fn range() -> Option<(usize, usize)> {
    let start = TABLES.load(Ordering::Relaxed).addr();
    (start != 0).then_some((start, start + size_of::<Tables>()))
}

fn hash(frames: &[u64], cut: bool) -> u64 {
    frames.iter().fold(u64::from(cut) + 1, |hash, frame| {
        let mixed = (hash ^ frame).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}

/// The number of a stack, whose frames are given from the innermost call on; [`NO_STACK`] when there is no room. `cut`:
/// there were more calls than `frames` has.
pub fn number(frames: &[u64], cut: bool) -> u32 {
    let Some(tables) = tables_or_map() else { return NO_STACK };
    let hash = hash(frames, cut);
    let upper = hash >> 32 << 32;
    let mut fresh = None;
    for place in places::order(hash, INDEX).take(TRIES) {
        let place = &tables.index[place];
        let mut held = place.load(Ordering::Acquire);
        if held == 0 {
            let number = match fresh {
                Some(number) => number,
                None => append(tables, frames, cut),
            };
            if number == NO_STACK {
                return NO_STACK;
            }
            fresh = Some(number);
            match place.compare_exchange(0, upper | u64::from(number), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return number,
                Err(other) => held = other,
            }
        }
        if held & !0xffff_ffff == upper && is(tables, held as u32, frames, cut) {
            return held as u32;
        }
    }
    fresh.unwrap_or(NO_STACK)
}

/// Adds a stack and returns its number.
fn append(tables: &Tables, frames: &[u64], cut: bool) -> u32 {
    if STACKS.load(Ordering::Relaxed) >= MAX_STACKS || FRAMES.load(Ordering::Relaxed) + frames.len() > MAX_FRAMES {
        return NO_STACK;
    }
    let start = FRAMES.fetch_add(frames.len(), Ordering::Relaxed);
    let Some(room) = tables.frames.get(start..start + frames.len()) else { return NO_STACK };
    let number = STACKS.fetch_add(1, Ordering::Relaxed);
    let Some(stack) = tables.stacks.get(number) else { return NO_STACK };
    room.iter().zip(frames).for_each(|(place, &frame)| place.store(frame, Ordering::Relaxed));
    let length = frames.len() as u64 | if cut { CUT } else { 0 };
    stack.store(start as u64 | length << START_BITS, Ordering::Release);
    number as u32
}

/// The frames of a stack, and whether it is cut.
fn entry(tables: &Tables, number: u32) -> Option<(&[AtomicU64], bool)> {
    let stack = tables.stacks.get(number as usize)?.load(Ordering::Acquire);
    let (start, length) = ((stack & ((1 << START_BITS) - 1)) as usize, stack >> START_BITS);
    Some((tables.frames.get(start..start + (length & !CUT) as usize)?, length & CUT != 0))
}

/// Whether the stack `number` is this one.
fn is(tables: &Tables, number: u32, frames: &[u64], cut: bool) -> bool {
    entry(tables, number).is_some_and(|(held, held_cut)| {
        let same = |(held, frame): (&AtomicU64, &u64)| held.load(Ordering::Relaxed) == *frame;
        held_cut == cut && held.len() == frames.len() && held.iter().zip(frames).all(same)
    })
}

/// The frames of a stack, from the innermost call on.
pub fn frames(number: u32) -> Vec<u64> {
    let entry = tables().and_then(|tables| entry(tables, number));
    entry.map_or_else(Vec::new, |(held, _)| held.iter().map(|frame| frame.load(Ordering::Relaxed)).collect())
}

/// Whether there were more calls than the stack has frames.
pub fn is_cut(number: u32) -> bool {
    tables().and_then(|tables| entry(tables, number)).is_some_and(|(_, cut)| cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stack_one_number() {
        let stacks: Vec<Vec<u64>> =
            (1..2_000u64).map(|i| (0..i % 60).map(|depth| i * 1000 + depth).collect()).collect();
        let numbers: Vec<u32> = stacks.iter().map(|stack| number(stack, false)).collect();
        for (stack, &given) in stacks.iter().zip(&numbers) {
            assert_eq!((number(stack, false), frames(given), is_cut(given)), (given, stack.clone(), false));
        }
        let cut = number(&stacks[1], true);
        assert!(is_cut(cut) && cut != numbers[1] && frames(cut) == stacks[1]);
    }
}
