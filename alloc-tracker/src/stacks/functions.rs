//! What is known of interpreted functions: texts by number, each kept once. A function may be gone, and another one be at its address,
//! before the names of calls are looked up; so what names it is copied at its first sample.
//!
//! ```text
//! index[hash] -> hash, and where its text is -> texts, one after the other
//! ```
//!
//! As in the table of stacks, places are tried in the order of `places`, nothing is ever removed, there is no lock, and what finds no
//! room has no number.
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::{places, sys};

/// The number of functions, a power of two; their numbers are at most this.
const MAX_FUNCTIONS: usize = 1 << 15;
/// Bytes of all texts together: 512 for each function. Pages become resident as they are used.
const MAX_BYTES: usize = 512 * MAX_FUNCTIONS;
/// How many places are tried for one function.
const TRIES: usize = 128;
/// A text's place is a number of 64 bits: in this many low bits where it begins, above them its length, which is more than 0.
const START_BITS: u32 = 32;

#[repr(C)]
struct Tables {
    /// The hash of each function; 0 for an unused place.
    hashes: [AtomicU64; MAX_FUNCTIONS],
    /// Where its text is; 0 until it is written.
    places: [AtomicU64; MAX_FUNCTIONS],
    texts: UnsafeCell<[u8; MAX_BYTES]>,
}

// SAFETY: each byte of `texts` belongs to the one thread that `USED` gave it to, until a place in `places` names it: from then on it is
// only read.
unsafe impl Sync for Tables {}

static TABLES: AtomicPtr<Tables> = AtomicPtr::new(ptr::null_mut());
/// How many bytes of texts are in use.
static USED: AtomicUsize = AtomicUsize::new(0);

fn tables() -> Option<&'static Tables> {
    // SAFETY: the pointer is null or a mapping of zeroes of this size (`number`), which is never unmapped once it stands here; for all
    // fields zero is a value.
    unsafe { TABLES.load(Ordering::Acquire).as_ref() }
}

/// The addresses that the tables occupy; `None` before they are mapped.
pub fn range() -> Option<(usize, usize)> {
    let start = TABLES.load(Ordering::Relaxed).addr();
    (start != 0).then_some((start, start + size_of::<Tables>()))
}

/// The number of the function with this hash, from 1 on; `None` when there is no room. For one that is not known, `write` gets room for
/// a text of `bytes` bytes. `hash` must differ for functions that differ.
pub fn number(hash: u64, bytes: impl FnOnce() -> usize, write: impl FnOnce(&mut [u8])) -> Option<u32> {
    sys::get_or_map(&TABLES, size_of::<Tables>());
    let tables = tables()?;
    let hash = hash.max(1);
    for number in places::order(hash, MAX_FUNCTIONS).take(TRIES) {
        match tables.hashes[number].load(Ordering::Acquire) {
            held if held == hash => return Some(number as u32 + 1),
            0 => {}
            _ => continue,
        }
        if USED.load(Ordering::Relaxed) >= MAX_BYTES {
            return None;
        }
        match tables.hashes[number].compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                keep(tables, number, bytes(), write);
                return Some(number as u32 + 1);
            }
            Err(held) if held == hash => return Some(number as u32 + 1),
            Err(_) => {}
        }
    }
    None
}

/// Keeps the text of a function whose number is this thread's alone to fill.
fn keep(tables: &Tables, number: usize, bytes: usize, write: impl FnOnce(&mut [u8])) {
    let start = USED.fetch_add(bytes, Ordering::Relaxed);
    if start.checked_add(bytes).is_none_or(|end| end > MAX_BYTES) {
        return;
    }
    // SAFETY: the range lies within the texts, and `USED` gave it to this call alone; nobody reads it before its place is stored.
    let room = unsafe { std::slice::from_raw_parts_mut(tables.texts.get().cast::<u8>().add(start), bytes) };
    write(room);
    tables.places[number].store(start as u64 | (bytes as u64) << START_BITS, Ordering::Release);
}

/// The text of a function; `None` when there was no room for it, or it is being written.
pub fn text(number: u32) -> Option<&'static [u8]> {
    let tables = tables()?;
    let place = tables.places.get((number as usize).checked_sub(1)?)?.load(Ordering::Acquire);
    let (start, bytes) = ((place & ((1 << START_BITS) - 1)) as usize, (place >> START_BITS) as usize);
    // SAFETY: a place that is stored names a range within the texts which has been written, and which nobody writes again.
    (place != 0).then(|| unsafe { std::slice::from_raw_parts(tables.texts.get().cast::<u8>().add(start), bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_kept_once_and_never_lost() {
        let hash = |index: u64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let add = |index: u64| {
            let text = index.to_le_bytes();
            number(hash(index), || text.len(), |room| room.copy_from_slice(&text))
        };
        let numbers: Vec<Option<u32>> = (1..=20_000).map(add).collect();
        for (index, &number) in (1..=20_000u64).zip(&numbers) {
            assert_eq!(add(index), number, "the same once more");
            let number = number.expect("there is room for 32,768");
            assert_eq!(text(number), Some(&index.to_le_bytes()[..]));
        }
        assert_eq!(text(0), None);
        let whole = number(7, || MAX_BYTES, |_| panic!("there is no room for it")).expect("a number");
        assert_eq!((text(whole), add(1)), (None, numbers[0]));
        assert_eq!(add(30_000), None, "all room is given away");
    }
}
