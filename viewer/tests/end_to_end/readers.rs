//! Damaged input: real timelines and logs with random changes, many of which respect the structure of the files. A reader
//! returns an error or something that can be used. It never panics, and its memory stays in proportion to its input. The
//! fuzzer in `tests/fuzz` searches for such inputs by coverage.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use alloc_timeline::{encode, log};

#[path = "common/reading.rs"]
mod reading;
use reading::{read_log, read_timeline};

/// Number of inputs of each kind.
const INPUTS: u64 = 10_000;
/// The most bytes that a reader may hold at a time for each byte of input.
const PER_BYTE: usize = 64;
/// The bytes that it may hold in addition, whatever the input.
const BASE: usize = 1 << 20;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// An allocator that counts the bytes that each thread holds, and their maximum: other tests allocate at the same time.
struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged, and the counters do not touch the blocks.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.get() + layout.size().cast_signed();
        HELD.set(held);
        MOST.set(held.max(MOST.get()));
        // SAFETY: the caller keeps the rules of `alloc`, which are the same for the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size().cast_signed());
        // SAFETY: the caller keeps the rules of `dealloc`, and the block came from the system's allocator.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Values in the place of a number that are known to break readers.
const ODD: [&str; 10] = [
    "0",
    "-1",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "99999999999999999999",
    "1e308",
    "1e999",
    "null",
    "\"\\ud800\"",
];

/// The generator xorshift64*: it gives the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % end
    }
}

/// The longest possible parts of `text` all of whose bytes are `inside`, as index ranges.
fn runs(text: &[u8], inside: impl Fn(u8) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (index, &byte) in text.iter().chain([&0]).enumerate() {
        match (start, inside(byte)) {
            (None, true) => start = Some(index),
            (Some(first), false) => {
                found.push((first, index));
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Replaces a random one of `places` by `put`.
fn replace(text: &mut Vec<u8>, places: &[(usize, usize)], put: &[u8], random: &mut Random) {
    if let Some(&(from, to)) = places.get(random.below(places.len().max(1) as u64) as usize) {
        text.splice(from..to, put.iter().copied());
    }
}

/// Makes one random change to `text`.
fn change(text: &mut Vec<u8>, random: &mut Random) {
    let end = text.len() as u64;
    if end < 2 {
        return;
    }
    let at = random.below(end) as usize;
    match random.below(11) {
        0 => text[at] ^= 1 << random.below(8),
        1 => text.truncate(at),
        2 => text[at] = 0xff,
        3 => {
            let odd = ODD[random.below(ODD.len() as u64) as usize];
            replace(text, &runs(text, |byte| byte.is_ascii_digit()), odd.as_bytes(), random);
        }
        4 => {
            let deep = [b"[".repeat(200), b"{\"a\":".repeat(50_000)];
            replace(text, &runs(text, |byte| byte.is_ascii_digit()), &deep[random.below(2) as usize], random);
        }
        5 => replace(text, &runs(text, |byte| byte.is_ascii_alphabetic()), b"other", random),
        6 => replace(text, &runs(text, |byte| b"{}[],:\"".contains(&byte)), b"],[{", random),
        // Removes, repeats or moves a part.
        kind => {
            let lines = runs(text, |byte| byte != b'\n' && byte != 0);
            let parts = if lines.len() > 3 { lines } else { runs(text, |byte| byte != b',' && byte != 0) };
            let mut pick = || parts[random.below(parts.len() as u64) as usize];
            let ((from, to), (other, _)) = (pick(), pick());
            let mut part = text[from..to].to_vec();
            part.extend_from_slice(text.get(to..=to).unwrap_or_default());
            match kind {
                7 => drop(text.drain(from..to)),
                8 | 9 => drop(text.splice(other..other, part)),
                _ => drop(text.splice(other..(other + to - from).min(text.len()), part)),
            }
        }
    }
}

/// Gives `read` inputs that come from the seeds by one to six changes. Returns how many it accepted.
fn count_accepted(seeds: &[Vec<u8>], seed: u64, read: impl Fn(&[u8]) -> bool) -> u64 {
    let mut accepted = 0;
    for number in 0..INPUTS {
        let mut random = Random::new(seed + number);
        let mut input = seeds[random.below(seeds.len() as u64) as usize].clone();
        (0..=random.below(6)).for_each(|_| change(&mut input, &mut random));
        let before = HELD.get();
        MOST.set(before);
        let answer = catch_unwind(AssertUnwindSafe(|| read(&input)));
        let most = (MOST.get() - before).cast_unsigned();
        let shown = String::from_utf8_lossy(&input[..input.len().min(4000)]).into_owned();
        let Ok(good) = answer else { panic!("input {number} of seed {seed}: {shown}") };
        assert!(most <= input.len() * PER_BYTE + BASE, "input {number} of seed {seed} took {most} bytes: {shown}");
        accepted += u64::from(good);
    }
    accepted
}

#[test]
fn damaged_timelines_and_logs_are_answered() {
    let read =
        |path: &str| std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).expect("a fixture");
    let golden = read("alloc-tracker/timeline/tests/golden/v1.timeline.json");
    let log = read("fixtures/logs/c-semantics.log");
    let mut whole = Vec::new();
    encode(&log::recover(&log[..], "x.log").expect("a log").timeline, &mut whole).expect("JSON");
    assert!(read_timeline(&golden) && read_timeline(&whole) && read_log(&log), "the seeds themselves are good");

    let timelines = count_accepted(&[golden, whole], 1, read_timeline);
    let logs = count_accepted(&[log], 1_000_000, read_log);
    // Inputs that are all refused at once would test only the first check of the readers.
    assert!(timelines > INPUTS / 50, "{timelines} of {INPUTS} were accepted");
    assert!(logs > INPUTS / 10, "{logs} of {INPUTS} were accepted");
}
