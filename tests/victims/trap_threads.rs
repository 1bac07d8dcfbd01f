//! Blocks that outlive their thread, and threads that allocate while they end: in the destructors of Rust's and of the
//! thread library's thread-locals, before and after the tracker's own. All of it in the phase `threads`, which owns
//! nothing in the end.
use std::cell::RefCell;
use std::ffi::c_void;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use alloc_interpose as _;
use alloc_tracker::{Captured, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// Allocates and frees some of every kind of block when it is dropped, and enters a scope.
struct Busy(Vec<u8>);

static DESTROYED: AtomicUsize = AtomicUsize::new(0);

fn allocate() {
    let _phase = phase!("end of thread");
    for size in [1, 16, 100, 20_000, 1 << 20] {
        let mut block = black_box(vec![1u8; size]);
        block.extend_from_within(..);
        // SAFETY: malloc accepts every size, and free any block of it.
        unsafe { libc::free(black_box(libc::malloc(size))) };
    }
    DESTROYED.fetch_add(1, Ordering::Relaxed);
}

impl Drop for Busy {
    fn drop(&mut self) {
        allocate();
        self.0 = Vec::new();
    }
}

thread_local! {
    static LOCAL: RefCell<Option<Busy>> = const { RefCell::new(None) };
}

static EARLY: AtomicU32 = AtomicU32::new(0);
static LATE: AtomicU32 = AtomicU32::new(0);

/// A key's destructor that sets the key again, so that it is called twice more.
extern "C" fn destroy(value: *mut c_void) {
    allocate();
    if value.addr() > 1 {
        let key = if value.addr() >= 20 { &LATE } else { &EARLY }.load(Ordering::Relaxed);
        let next = if value.addr() % 10 == 1 { 0 } else { value.addr() - 1 };
        // SAFETY: the key was made and is never deleted.
        unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(next)) };
    }
}

fn key(store: &AtomicU32) {
    let mut key = 0;
    // SAFETY: `key` is valid for writing and `destroy` has the signature asked for.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(destroy)) }, 0);
    store.store(key, Ordering::Relaxed);
}

fn main() {
    // One key is made before the tracker's key (unless that exists already), the other after it.
    key(&EARLY);
    let session = session();
    key(&LATE);
    let scope = {
        let _phase = phase!("threads");
        alloc_tracker::capture()
    };
    elsewhere(scope);
    destructors(scope);
    finish(session);
}

/// Blocks of every kind of tag, made by one thread and freed by another, while the first runs and after it has ended.
fn elsewhere(scope: Captured) {
    const SIZES: [usize; 7] = [1, 9, 24, 1_000, 14_336, 14_337, 3 << 20];
    let (send, receive) = mpsc::channel::<Vec<Vec<u8>>>();
    let makers: Vec<_> = (0..4)
        .map(|_| {
            let send = send.clone();
            thread::spawn(move || {
                let blocks = {
                    let _threads = scope.attach();
                    (0..50).map(|_| SIZES.iter().map(|&size| black_box(vec![0u8; size])).collect()).collect::<Vec<_>>()
                };
                for blocks in blocks {
                    send.send(blocks).expect("somebody to free them");
                }
            })
        })
        .collect();
    drop(send);
    let mut late = Vec::new();
    let mut freed = 0;
    for (number, blocks) in receive.into_iter().enumerate() {
        freed += blocks.len();
        if number % 2 == 0 { drop(blocks) } else { late.push(blocks) }
    }
    makers.into_iter().for_each(|maker| maker.join().expect("no panic"));
    drop(late);
    check("blocks freed elsewhere", freed, 4 * 50 * SIZES.len());
}

fn destructors(scope: Captured) {
    for round in 0..20 {
        let worker = thread::spawn(move || {
            LOCAL.with(|local| *local.borrow_mut() = Some(Busy(Vec::new())));
            // SAFETY: the keys were made in `main` and are never deleted.
            unsafe {
                libc::pthread_setspecific(EARLY.load(Ordering::Relaxed), std::ptr::without_provenance(13));
                libc::pthread_setspecific(LATE.load(Ordering::Relaxed), std::ptr::without_provenance(23));
            }
            if round % 2 == 0 {
                let _threads = scope.attach();
                LOCAL.with(|local| local.borrow_mut().as_mut().expect("set above").0 = black_box(vec![1; 5_000]));
            }
        });
        worker.join().expect("no panic");
    }
    // One of the thread-local and three of each key, in 20 threads.
    check("destructors that allocated", DESTROYED.load(Ordering::Relaxed), 20 * (1 + 3 + 3));
}
