//! Everything at once, for TRAP_STRESS_SECONDS (the default is 10): threads that start, allocate and end, forks, a
//! library that is loaded and unloaded (the third argument), raised signals, backtraces, scopes, and sessions that
//! start and finish all the time. Nothing may hang or crash; the children may not either. The second argument is the
//! seed; without a first there are no sessions.
use std::ffi::CString;
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use alloc_interpose as _;
use alloc_tracker::{Session, layer, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

static DONE: [AtomicU64; 7] = [const { AtomicU64::new(0) }; 7];

extern "C" fn handler(_: libc::c_int) {
    drop(black_box(vec![0u8; 100]));
    drop(black_box(vec![0u8; 100_000]));
}

fn allocate(random: &mut Random) {
    let mut held: Vec<Vec<u8>> = Vec::new();
    for _ in 0..random.below(200) {
        let bytes = (if random.below(20) == 0 { random.below(1 << 20) } else { random.below(2_000) }) as usize;
        held.push(black_box(vec![0u8; bytes]));
        if random.below(3) == 0 {
            let place = random.below(held.len() as u64) as usize;
            held.swap_remove(place);
        }
    }
}

fn scopes(random: &mut Random) {
    let _phase = phase!(["forward", "backward", "optimizer"][random.below(3) as usize]);
    let _layer = layer!(&format!("layer{}", random.below(300)));
    allocate(random);
}

fn threads(random: &mut Random) {
    let seeds: Vec<u64> = (0..4).map(|_| random.next() | 1).collect();
    let workers: Vec<_> = seeds.into_iter().map(|seed| thread::spawn(move || scopes(&mut Random(seed)))).collect();
    workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
}

/// Held while the library is loaded or unloaded, and while a child is forked that will call `exit`: glibc does not free
/// the lock of its list of exit handlers in a child (with any allocator), so such a child would wait for ever.
///
/// Left out altogether, for the same reason, is `std::process::exit` in a child: the standard library takes a lock
/// there that every thread of its own takes when it starts and ends (its list of guard pages), and the child of a fork
/// at such a moment waits for ever. A program of threads, forks and nothing else hangs so over glibc's malloc.
static LOADING: Mutex<()> = Mutex::new(());

fn forks(random: &mut Random) {
    let exits = random.below(2) == 0;
    let quiet = exits.then(|| LOADING.lock().expect("no panic"));
    // SAFETY: what a child of a threaded program may do under jemalloc and the tracker is what is tried here.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // A child that hangs is ended by this and found by its status.
        // SAFETY: alarm only sets a timer.
        unsafe { libc::alarm(HANGS.as_secs() as u32) };
        scopes(random);
        // SAFETY: ends the child, with C's handlers (the tracker's is among them) or without.
        unsafe { if exits { libc::exit(0) } else { libc::_exit(0) } };
    }
    drop(quiet);
    let mut status = 0;
    // SAFETY: `status` is valid for writing.
    unsafe { libc::waitpid(child, &mut status, 0) };
    if status != 0 {
        println!("FAIL a child: expected 0 got status {status:#x}");
    }
}

fn library(random: &mut Random) {
    let Some(path) = std::env::args().nth(3) else { return };
    let path = CString::new(path).expect("a path");
    let loading = LOADING.lock().expect("no panic");
    let deep = if random.below(2) == 0 { 0 } else { libc::RTLD_DEEPBIND };
    // SAFETY: the library's constructors and destructors are the test's own; nothing of it is kept.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | deep);
        assert!(!handle.is_null());
        black_box(libc::dlsym(handle, c"trap_make".as_ptr()));
        libc::dlclose(handle);
    }
    drop(loading);
    // Neither this lock nor the loader's is fair: whoever takes it again at once keeps it from all others.
    thread::sleep(Duration::from_micros(100));
}

fn signals(random: &mut Random) {
    let _phase = phase!("signals");
    for _ in 0..random.below(50) {
        // SAFETY: raising a signal that has a handler, between two allocations.
        unsafe { libc::raise(libc::SIGUSR1) };
        drop(black_box(vec![0u8; 50]));
    }
}

fn backtraces(random: &mut Random) {
    let _phase = phase!("backtraces");
    for _ in 0..random.below(5) {
        black_box(std::backtrace::Backtrace::force_capture().to_string());
    }
}

fn sessions(random: &mut Random) {
    let Some(path) = output() else { return thread::sleep(Duration::from_millis(1)) };
    let session = Session::builder().output(path).start().expect("a session");
    for _ in 0..random.below(4) {
        session.mark("a mark");
        session.snapshot("a table");
        scopes(random);
        thread::sleep(Duration::from_millis(random.below(20)));
    }
    session.finish().expect("the timeline");
}

fn main() {
    let seed = trick().parse().unwrap_or(1);
    let seconds = std::env::var("TRAP_STRESS_SECONDS").ok().and_then(|word| word.parse().ok()).unwrap_or(10);
    // SAFETY: sigaction is plain data for which zeroes are a value; the handler has the signature asked for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    let works: [fn(&mut Random); 7] = [scopes, threads, forks, library, signals, backtraces, sessions];
    let end = Instant::now() + Duration::from_secs(seconds);
    thread::scope(|threads| {
        for (number, work) in works.into_iter().enumerate() {
            threads.spawn(move || {
                let mut random = Random((seed + 1) * 7_919 + number as u64);
                // At least five rounds of each kind, however slow the machine is. If one of them hangs, the program
                // does not end.
                while Instant::now() < end || DONE[number].load(Ordering::Relaxed) < 5 {
                    work(&mut random);
                    DONE[number].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let done = DONE.each_ref().map(|count| count.load(Ordering::Relaxed));
    check_that("everybody got on", done.iter().all(|&count| count >= 5), done);
    println!("done {done:?}");
}
