//! Damaged input: real timelines and logs, changed at random in ways that know their structure. A reader answers with an
//! error or with something that can be used; it never panics, and never takes memory out of proportion to its input.
//! (`tests/fuzz` looks for such inputs by what they reach.)
use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloc_timeline::encode;
use viewer::cli::assemble;

#[path = "common/reading.rs"]
mod reading;
use reading::{read_log, read_timeline};

/// How many inputs of each kind.
const INPUTS: u64 = 10_000;
/// The most bytes that reading may hold at a time for one byte of input, and on top.
const PER_BYTE: usize = 64;
const BASE: usize = 1 << 20;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Counts what is held, and the most of it.
struct Counting;

// SAFETY: every call goes to the system's allocator as it came; the counters change nothing about the blocks.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Numbers, and things in their place, that readers have stumbled over.
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

/// xorshift64*: the same numbers for the same seed.
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

/// The parts of `text` that `inside` holds for, each as long as it gets.
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

/// Puts `put` in place of a random one of `places`.
fn replace(text: &mut Vec<u8>, places: &[(usize, usize)], put: &[u8], random: &mut Random) {
    if let Some(&(from, to)) = places.get(random.below(places.len().max(1) as u64) as usize) {
        text.splice(from..to, put.iter().copied());
    }
}

/// Changes `text` once.
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
        // A part of it twice, left out, or elsewhere.
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

/// Gives `read` the seeds, changed one to six times; how many it accepted.
fn hold(seeds: &[Vec<u8>], seed: u64, read: impl Fn(&[u8]) -> bool) -> u64 {
    let mut accepted = 0;
    for number in 0..INPUTS {
        let mut random = Random::new(seed + number);
        let mut input = seeds[random.below(seeds.len() as u64) as usize].clone();
        (0..=random.below(6)).for_each(|_| change(&mut input, &mut random));
        let before = HELD.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let answer = catch_unwind(AssertUnwindSafe(|| read(&input)));
        let most = MOST.load(Ordering::Relaxed) - before;
        let shown = String::from_utf8_lossy(&input[..input.len().min(4000)]).into_owned();
        let Ok(good) = answer else { panic!("input {number} of seed {seed}: {shown}") };
        assert!(most <= input.len() * PER_BYTE + BASE, "input {number} of seed {seed} took {most} bytes: {shown}");
        accepted += u64::from(good);
    }
    accepted
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn damaged_timelines_and_logs_are_answered() {
    let read =
        |path: &str| std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).expect("a fixture");
    let golden = read("alloc-tracker/timeline/tests/golden/v1.timeline.json");
    let log = read("fixtures/logs/c-semantics.log");
    let mut whole = Vec::new();
    encode(&assemble(&log[..], Path::new("x.log")).expect("a log").timeline, &mut whole).expect("JSON");
    assert!(read_timeline(&golden) && read_timeline(&whole) && read_log(&log), "the seeds themselves are good");

    let timelines = hold(&[golden, whole], 1, read_timeline);
    let logs = hold(&[log], 1_000_000, read_log);
    // Were nothing accepted any more, nothing behind the first check would be tried.
    assert!(timelines > INPUTS / 50, "{timelines} of {INPUTS} were accepted");
    assert!(logs > INPUTS / 10, "{logs} of {INPUTS} were accepted");
}
