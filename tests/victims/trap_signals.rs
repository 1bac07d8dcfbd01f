//! Signals. jemalloc, as glibc's malloc, may not be called by a handler that interrupted it, so two things are tried:
//! `raise`, where the handler allocates and frees between two allocations of the thread; and `storm`, where a timer
//! interrupts a thread that allocates and enters scopes every 200 us, and the handler does what the tracker allows
//! there: it enters a captured scope, asks for the active one, and leaves.
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use alloc_interpose as _;
use alloc_tracker::{Captured, layer, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

static HANDLED: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
/// The captured scope. It is written before the timer starts; the handler only copies it.
static mut SCOPE: Option<Captured> = None;

extern "C" fn allocates(_: libc::c_int) {
    let saved = errno();
    let _phase = phase!("handler");
    for size in [1, 100, 50_000] {
        drop(black_box(vec![0u8; size]));
    }
    HANDLED.fetch_add(1, Ordering::Relaxed);
    set_errno(saved);
}

extern "C" fn enters(_: libc::c_int) {
    let saved = errno();
    let before = alloc_tracker::capture();
    // SAFETY: written once, before the first signal.
    if let Some(scope) = unsafe { SCOPE } {
        let guard = scope.attach();
        if alloc_tracker::capture() != scope {
            WRONG.fetch_add(1, Ordering::Relaxed);
        }
        drop(guard);
    }
    if alloc_tracker::capture() != before {
        WRONG.fetch_add(1, Ordering::Relaxed);
    }
    HANDLED.fetch_add(1, Ordering::Relaxed);
    set_errno(saved);
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: sigaction is plain data for which zeroes are a value; the handler has the signature asked for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

fn main() {
    let session = session();
    match trick().as_str() {
        "raise" => raise(),
        "storm" => storm(),
        other => panic!("no trick {other:?}"),
    }
    finish(session);
}

fn raise() {
    handle(libc::SIGUSR1, allocates);
    let _phase = phase!("raised in");
    for round in 0..5_000 {
        let block = black_box(vec![0u8; 10 * round]);
        // SAFETY: raising a signal that has a handler.
        unsafe { libc::raise(libc::SIGUSR1) };
        drop(block);
    }
    check("signals handled", HANDLED.load(Ordering::Relaxed), 5_000);
}

fn timer(every: Duration) {
    let span = libc::timeval { tv_sec: 0, tv_usec: every.as_micros() as libc::suseconds_t };
    let timer = libc::itimerval { it_interval: span, it_value: span };
    // SAFETY: `timer` is valid for reading, and the old value is not asked for.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
}

fn storm() {
    let outside = alloc_tracker::capture();
    // SAFETY: no signal has come yet, and no other thread looks.
    unsafe {
        SCOPE = Some({
            let _phase = phase!("handler");
            alloc_tracker::capture()
        });
    }
    handle(libc::SIGALRM, enters);
    timer(Duration::from_micros(200));
    let began = Instant::now();
    let shared = Mutex::new(Vec::new());
    let mut lost = 0_u64;
    // Two seconds, and longer where the machine gives this process so little time that few signals come.
    while began.elapsed() < Duration::from_secs(2) || HANDLED.load(Ordering::Relaxed) <= 500 {
        for round in 0..1_000 {
            let before = alloc_tracker::capture();
            {
                let _phase = phase!("stormed");
                let inside = alloc_tracker::capture();
                let _layer = layer!("layer");
                shared.lock().expect("no panic").push(black_box(vec![0u8; round * 20]));
                drop(_layer);
                lost += u64::from(alloc_tracker::capture() != inside);
            }
            lost += u64::from(alloc_tracker::capture() != before);
        }
        shared.lock().expect("no panic").clear();
    }
    timer(Duration::ZERO);
    drop(shared);
    check("scopes that were not left", lost, 0);
    check("the storm leaves the scope as it was", alloc_tracker::capture(), outside);
    check("what the handler found", WRONG.load(Ordering::Relaxed), 0);
    check_that("signals came", HANDLED.load(Ordering::Relaxed) > 500, HANDLED.load(Ordering::Relaxed));
}
