//! `threads SEED`: 16 threads allocate, resize and free blocks of all kinds at random, half of them each other's.
//! `model SEED`: one thread does the same, sums up the usable bytes itself, and prints the most that it ever held.
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::Mutex;

use alloc_interpose as _;
use alloc_tracker::{Captured, Session, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const SLOTS: usize = 256;

/// A block on its way to another thread.
struct Parcel(*mut c_void);

// SAFETY: a parcel is a live block, which any thread may free.
unsafe impl Send for Parcel {}

static QUEUE: Mutex<Vec<Parcel>> = Mutex::new(Vec::new());

fn main() {
    let seed = std::env::args().nth(3).and_then(|word| word.parse().ok()).unwrap_or(1);
    let session = session();
    match trick().as_str() {
        "threads" => threads(seed),
        "model" => model(seed, session.as_ref()),
        other => panic!("no trick {other:?}"),
    }
    finish(session);
    println!("ok the end");
}

fn size(random: &mut Random) -> usize {
    (match random.below(100) {
        0..25 => random.below(17),
        25..80 => random.below(1_000),
        80..95 => random.below(20_000),
        95..99 => random.below(300_000),
        _ => random.below(8 << 20),
    }) as usize
}

/// A fresh block of a random kind.
fn make(random: &mut Random) -> *mut c_void {
    let size = size(random);
    // SAFETY: all of these accept every size, and memalign these alignments.
    let block = unsafe {
        match random.below(6) {
            0 => libc::calloc(1, size),
            1 => libc::memalign(16 << random.below(9), size),
            _ => libc::malloc(size),
        }
    };
    assert!(!block.is_null());
    black_box(block)
}

fn usable(block: *mut c_void) -> usize {
    // SAFETY: `block` is null or live.
    unsafe { libc::malloc_usable_size(block) }
}

/// Writes the block's address into its first and last bytes.
fn sign(block: *mut c_void) {
    let usable = usable(block);
    if usable >= 8 {
        // SAFETY: both writes lie within the usable size.
        unsafe {
            block.cast::<usize>().write_unaligned(block.addr());
            block.cast::<u8>().add(usable - 1).write(block.addr() as u8 ^ (block.addr() >> 8) as u8);
        }
    }
}

/// Whether the signature is still there: nobody else was given any of the block.
fn signed(block: *mut c_void) -> bool {
    let usable = usable(block);
    // SAFETY: both reads lie within the usable size, and `sign` wrote them.
    usable < 9
        || unsafe {
            block.cast::<usize>().read_unaligned() == block.addr()
                && block.cast::<u8>().add(usable - 1).read() == block.addr() as u8 ^ (block.addr() >> 8) as u8
        }
}

fn work(seed: u64, scope: Captured) -> u32 {
    let mut random = Random(seed);
    let mut damaged = 0;
    let mut held = [null_mut::<c_void>(); SLOTS];
    let _scope = scope.attach();
    for _ in 0..30_000 {
        let place = &mut held[random.below(SLOTS as u64) as usize];
        if !place.is_null() {
            damaged += u32::from(!signed(*place));
        }
        // SAFETY: each block is live until its one free or the realloc that takes it.
        unsafe {
            match random.below(4) {
                0 => {
                    libc::free(*place);
                    *place = make(&mut random);
                }
                1 => *place = black_box(libc::realloc(*place, 1 + size(&mut random))),
                2 => {
                    // Takes a block of another thread, and leaves one for another thread. The queue itself does not
                    // grow.
                    let mut queue = QUEUE.lock().expect("no panic");
                    let theirs = queue.pop();
                    if !place.is_null() && queue.len() < queue.capacity() {
                        queue.push(Parcel(*place));
                        *place = null_mut();
                    }
                    drop(queue);
                    if let Some(Parcel(block)) = theirs {
                        damaged += u32::from(!signed(block));
                        libc::free(block);
                    }
                }
                _ => {
                    libc::free(*place);
                    *place = null_mut();
                }
            }
        }
        if !place.is_null() {
            sign(*place);
        }
    }
    // SAFETY: as above.
    held.into_iter().for_each(|block| unsafe { libc::free(block) });
    damaged
}

fn threads(seed: u64) {
    QUEUE.lock().expect("no panic").reserve(1_000);
    let scope = {
        let _phase = phase!("queue");
        alloc_tracker::capture()
    };
    let workers: Vec<_> = (0..16)
        .map(|number| std::thread::spawn(move || work(seed.wrapping_mul(1_000_003) + number + 1, scope)))
        .collect();
    let damaged: u32 = workers.into_iter().map(|worker| worker.join().expect("no panic")).sum();
    for Parcel(block) in QUEUE.lock().expect("no panic").drain(..) {
        // SAFETY: the block is live; nobody else has it any more.
        unsafe { libc::free(block) };
    }
    check("blocks that somebody else wrote to", damaged, 0);
}

fn model(seed: u64, session: Option<&Session>) {
    let mut random = Random(seed);
    let mut held = [null_mut::<c_void>(); SLOTS];
    let (mut live, mut peak, mut made, mut freed) = (0, 0, 0, 0);
    let scope = {
        let _phase = phase!("model");
        alloc_tracker::capture()
    };
    if let Some(session) = session {
        session.snapshot("start");
    }
    {
        let _scope = scope.attach();
        for _ in 0..100_000 {
            let place = &mut held[random.below(SLOTS as u64) as usize];
            live -= usable(*place);
            // SAFETY: each block is live until its one free or the realloc that takes it.
            unsafe {
                match random.below(3) {
                    0 if place.is_null() => {
                        *place = make(&mut random);
                        made += 1;
                    }
                    1 if !place.is_null() => *place = black_box(libc::realloc(*place, 1 + size(&mut random))),
                    _ => {
                        freed += u32::from(!place.is_null());
                        libc::free(*place);
                        *place = null_mut();
                    }
                }
            }
            live += usable(*place);
            peak = peak.max(live);
        }
    }
    if let Some(session) = session {
        session.snapshot("all held");
    }
    println!("model live {live} peak {peak} made {made} freed {freed}");
    // SAFETY: as above.
    held.into_iter().for_each(|block| unsafe { libc::free(block) });
}
