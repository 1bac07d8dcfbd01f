//! fork in a program whose threads are allocating. The children allocate too and end in every way; the parent's counts
//! and file stay its own. `atfork` forks with handlers that allocate, `children` with children that run and end in
//! several ways, `own` with children that record themselves, `orphan` leaves a child behind, `programs` starts other
//! programs by vfork + exec and posix_spawn.
use std::ffi::CStr;
use std::hint::black_box;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use alloc_interpose as _;
use alloc_tracker::{Session, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

static STOP: AtomicBool = AtomicBool::new(false);
/// What each worker has done.
static ROUNDS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static HANDLERS: AtomicU64 = AtomicU64::new(0);

fn allocate() {
    for size in [1, 10, 100, 10_000, 100_000, 2 << 20] {
        let mut block = black_box(vec![1u8; size]);
        block.extend_from_within(..);
        // SAFETY: malloc accepts every size, and free any block of it.
        unsafe { libc::free(black_box(libc::malloc(size))) };
    }
}

extern "C" fn handler() {
    allocate();
    HANDLERS.fetch_add(1, Ordering::Relaxed);
}

fn main() {
    let trick = trick();
    if trick == "atfork" {
        // One set of handlers is registered before the session's, one after it.
        // SAFETY: the handlers have the signature asked for and stay valid.
        unsafe { libc::pthread_atfork(Some(handler), Some(handler), Some(handler)) };
    }
    let session = session();
    if trick == "atfork" {
        // SAFETY: as above.
        unsafe { libc::pthread_atfork(Some(handler), Some(handler), Some(handler)) };
    }
    let workers: Vec<_> = ROUNDS
        .iter()
        .map(|rounds| {
            thread::spawn(|| {
                let _phase = phase!("workers");
                while !STOP.load(Ordering::Relaxed) {
                    allocate();
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    // No thread is starting when the first child is forked: the standard library holds a lock then, which a child that
    // starts a thread would wait for.
    while ROUNDS.iter().any(|rounds| rounds.load(Ordering::Relaxed) < 10) {
        thread::yield_now();
    }
    match trick.as_str() {
        "atfork" => {
            for _ in 0..50 {
                // SAFETY: exit is allowed in a child.
                reap(fork(|| unsafe { libc::_exit(3) }), 3);
            }
            // Two handlers have run in this process, before and after the fork; the third runs in the child.
            check("handlers", HANDLERS.load(Ordering::Relaxed), 50 * 2 * 2);
        }
        "children" => children(),
        "own" => own(),
        "orphan" => orphan(),
        "programs" => programs(),
        other => panic!("no trick {other:?}"),
    }
    STOP.store(true, Ordering::Relaxed);
    workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
    finish(session);
    println!("ok the end");
}

/// Forks; the child does `work` and must not come back from it.
fn fork(work: impl FnOnce()) -> libc::pid_t {
    // SAFETY: jemalloc and the tracker both see to it that a child of a threaded program may allocate, which is what
    // this program tries.
    let child = unsafe { libc::fork() };
    if child == 0 {
        allocate();
        work();
        // SAFETY: ends the child without any handlers.
        unsafe { libc::_exit(99) };
    }
    child
}

/// Ends a child through C's handlers, the tracker's among them. Not by `std::process::exit`: see `trap_stress.rs`.
fn exit(code: i32) -> ! {
    // SAFETY: the handlers are libc's, the tracker's and those of the libraries, which a child may run.
    unsafe { libc::exit(code) }
}

/// Waits for a child and checks that it ended with this code.
fn reap(child: libc::pid_t, code: i32) {
    let mut status = 0;
    // SAFETY: `status` is valid for writing.
    let reaped = unsafe { libc::waitpid(child, &mut status, 0) };
    let ended = (reaped, libc::WIFEXITED(status), libc::WEXITSTATUS(status));
    if ended != (child, true, code) {
        println!("FAIL a child: expected {:?} got {ended:?}, status {status:x}", (child, true, code));
    }
}

fn children() {
    for _ in 0..20 {
        // SAFETY: ends the child without any handlers.
        reap(fork(|| unsafe { libc::_exit(3) }), 3);
        // Through the handlers of `atexit`, the session's among them.
        reap(fork(|| exit(4)), 4);
        // A child of two threads.
        reap(
            fork(|| {
                thread::spawn(allocate).join().expect("no panic");
                // SAFETY: a fork in a fork.
                reap(fork(|| exit(6)), 6);
                exit(5)
            }),
            5,
        );
    }
    println!("ok children");
}

/// Each child writes a file of its own, `PATH.child-PID`, in which 55,000 bytes are live in the phase `child`, and what
/// it has from its parent in the phase `inherited`.
fn own() {
    let mut inherited: Vec<Vec<u8>> = Vec::with_capacity(101);
    {
        let _phase = phase!("inherited");
        inherited.extend((0..100).map(|_| black_box(vec![1u8; 1_000])));
        inherited.push(black_box(vec![1u8; 1 << 20]));
    }
    let path = output();
    for _ in 0..5 {
        let path = path.clone();
        let child = fork(move || {
            let path = path.map(|path| format!("{path}.child-%p"));
            let session = path.map(|path| Session::builder().output(path).start().expect("the child's own session"));
            {
                let _phase = phase!("child");
                std::mem::forget(black_box(vec![1u8; 5_000]));
                std::mem::forget(black_box(vec![1u8; 50_000]));
            }
            trap_kit::finish(session);
            exit(7)
        });
        reap(child, 7);
    }
    drop(inherited);
    println!("ok own");
}

/// Leaves a child behind, which reads a pipe until the parent has ended, then prints a line and ends.
fn orphan() {
    let mut pipe = [0; 2];
    // SAFETY: `pipe` has room for two descriptors.
    assert_eq!(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    fork(|| {
        let mut byte = 0_u8;
        // SAFETY: the child's own copies of the descriptors; the byte is valid for writing.
        unsafe {
            libc::close(pipe[1]);
            libc::read(pipe[0], (&raw mut byte).cast(), 1);
        }
        allocate();
        println!("ok orphan");
        exit(0)
    });
}

fn programs() {
    let path: &CStr = c"/bin/true";
    let words = [path.as_ptr(), null()];
    for _ in 0..50 {
        // SAFETY: the child of vfork does nothing but exec, and _exit when that fails; words ends with null.
        #[allow(deprecated, reason = "vfork is what is tried here")]
        let child = unsafe { libc::vfork() };
        if child == 0 {
            // SAFETY: as above.
            unsafe {
                libc::execv(path.as_ptr(), words.as_ptr());
                libc::_exit(98);
            }
        }
        reap(child, 0);
        let mut child = 0;
        // SAFETY: all pointers are valid or null where null is allowed.
        let code = unsafe {
            libc::posix_spawn(
                &mut child,
                path.as_ptr(),
                null(),
                null(),
                words.as_ptr().cast(),
                [std::ptr::null_mut()].as_ptr(),
            )
        };
        if code != 0 {
            println!("FAIL posix_spawn: expected 0 got {code}");
        }
        reap(child, 0);
        let status = std::process::Command::new("true").status().expect("true");
        if !status.success() {
            println!("FAIL Command: expected success got {status}");
        }
    }
    println!("ok programs");
}
