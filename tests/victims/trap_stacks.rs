//! Stacks at which an unwinder could fail: a stack that ends, with garbage in place of a return address; code without
//! unwind tables that leaves garbage in the frame pointer; threads and signal handlers with small stacks; recursion
//! that fills a stack; a fork between samples. Each allocates, and must find its bytes unchanged.
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use alloc_interpose as _;
use alloc_tracker::phase;

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

static DONE: AtomicU64 = AtomicU64::new(0);

/// Allocates, resizes and frees 200 blocks, all of which are sampled at a mean of 4 KiB or less.
#[inline(never)]
extern "C" fn work() {
    let _phase = phase!("odd stack");
    for size in 0..200 {
        let mut block = black_box(vec![7u8; 16_384 + size * 64]);
        block.resize(20_000 + size * 100, 7);
        block.truncate(100);
        block.shrink_to_fit();
        DONE.fetch_add(u64::from(block.iter().all(|&byte| byte == 7)), Ordering::Relaxed);
    }
}

fn worked(name: &str, times: u64) {
    check(name, DONE.swap(0, Ordering::Relaxed), times * 200);
}

fn map(bytes: usize, protection: libc::c_int) -> *mut u8 {
    // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no existing memory.
    let start =
        unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    start.cast()
}

static mut OUTSIDE: Option<Box<[libc::ucontext_t; 2]>> = None;

extern "C" fn on_another_stack() {
    work();
}

/// Calls [`work`] on a fresh stack full of `garbage`, above which nothing is mapped.
#[inline(never)]
fn context(garbage: u64) {
    const BYTES: usize = 256 * 1024;
    let start = map(BYTES + 4096, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: the mapping is that long, and ours alone; its last page is given back, so that the stack ends there.
    unsafe {
        (0..BYTES / 8).for_each(|word| start.cast::<u64>().add(word).write(garbage));
        libc::munmap(start.add(BYTES).cast(), 4096);
    }
    // SAFETY: contexts are plain data for which zeroes are a value. They are in memory that stays where it is until
    // both are done with; the function takes nothing, and its stack is mapped until it has returned.
    unsafe {
        OUTSIDE = Some(Box::new(std::mem::zeroed()));
        let contexts: &mut [libc::ucontext_t; 2] = (*ptr::addr_of_mut!(OUTSIDE)).as_mut().expect("contexts");
        let [outside, inside] = contexts;
        assert_eq!(libc::getcontext(inside), 0);
        inside.uc_stack.ss_sp = start.cast();
        inside.uc_stack.ss_size = BYTES;
        inside.uc_link = outside;
        libc::makecontext(inside, on_another_stack, 0);
        assert_eq!(libc::swapcontext(outside, inside), 0);
        libc::munmap(start.cast(), BYTES);
    }
}

/// Runs code that has no unwind tables: it puts `garbage` into the frame pointer and calls [`work`].
#[cfg(target_arch = "x86_64")]
fn without_tables(garbage: u64) {
    let code = map(4096, libc::PROT_READ | libc::PROT_WRITE);
    let mut bytes: Vec<u8> = vec![0x55]; // push rbp
    bytes.extend([0x48, 0xbd]); // mov rbp, garbage
    bytes.extend(garbage.to_le_bytes());
    bytes.extend([0x48, 0xb8]); // mov rax, work
    bytes.extend((work as *const () as u64).to_le_bytes());
    bytes.extend([0xff, 0xd0, 0x5d, 0xc3]); // call rax; pop rbp; ret
    // SAFETY: the mapping is a page, and ours alone. What is written are instructions of a function that keeps the
    // rules of calls, but for the frame pointer, which it puts back.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), code, bytes.len());
        assert_eq!(libc::mprotect(code.cast(), 4096, libc::PROT_READ | libc::PROT_EXEC), 0);
        let function: extern "C" fn() = std::mem::transmute(code);
        function();
        libc::munmap(code.cast(), 4096);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn without_tables(_: u64) {
    work();
}

extern "C" fn thread(_: *mut c_void) -> *mut c_void {
    work();
    ptr::null_mut()
}

/// A thread with the smallest stack that a thread may have, plus what the C library needs of it.
fn little_stack() {
    // SAFETY: the attributes are initialised before they are used; the function has the signature asked for, and is
    // waited for.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        assert_eq!(libc::pthread_attr_init(&mut attributes), 0);
        let least =
            usize::try_from(libc::sysconf(libc::_SC_THREAD_STACK_MIN)).unwrap_or(0).max(libc::PTHREAD_STACK_MIN);
        assert_eq!(libc::pthread_attr_setstacksize(&mut attributes, least), 0);
        let mut id = 0;
        assert_eq!(libc::pthread_create(&mut id, &attributes, thread, ptr::null_mut()), 0);
        assert_eq!(libc::pthread_join(id, ptr::null_mut()), 0);
        libc::pthread_attr_destroy(&mut attributes);
    }
}

extern "C" fn handler(_: libc::c_int) {
    let saved = errno();
    work();
    set_errno(saved);
}

/// A signal handler on an alternate stack of the usual size.
fn handler_stack() {
    // SAFETY: getauxval only reads what the kernel has told: here the least that a handler's stack needs.
    let least = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    let size = libc::SIGSTKSZ.max(least + 8192);
    let stack =
        libc::stack_t { ss_sp: map(size, libc::PROT_READ | libc::PROT_WRITE).cast(), ss_flags: 0, ss_size: size };
    // SAFETY: the stack is mapped until the handler has returned; the handler has the signature asked for.
    unsafe {
        assert_eq!(libc::sigaltstack(&stack, ptr::null_mut()), 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut()), 0);
        libc::raise(libc::SIGUSR1);
    }
}

/// 10,000 calls deep.
#[inline(never)]
fn deep(left: u32) {
    if left == 0 {
        work();
    } else {
        deep(left - 1);
    }
    black_box(left);
}

/// Forks children while other threads take samples; the children take samples as well.
fn forks() {
    let end = Instant::now() + Duration::from_millis(500);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while Instant::now() < end {
                    drop(black_box(vec![1u8; 30_000]));
                }
            });
        }
        let mut well = 0;
        loop {
            // SAFETY: the child does nothing that needs its parent's other threads, and leaves without exit handlers.
            unsafe {
                let child = libc::fork();
                if child == 0 {
                    DONE.store(0, Ordering::Relaxed);
                    work();
                    libc::_exit(if DONE.load(Ordering::Relaxed) == 200 { 0 } else { 1 });
                }
                let mut status = 0;
                libc::waitpid(child, &mut status, 0);
                well += u64::from(status == 0);
            }
            if Instant::now() >= end {
                break;
            }
        }
        check_that("children", well > 0, well);
    });
}

fn main() {
    let session = session();
    for garbage in [0, 1, 0xdead_beef_dead_beef, 0x7fff_ffff_f000, u64::MAX, main as *const () as u64 + 4] {
        context(garbage);
        without_tables(garbage);
    }
    worked("stacks full of garbage", 12);
    little_stack();
    worked("a thread with little stack", 1);
    handler_stack();
    worked("a handler with a stack of its own", 1);
    deep(10_000);
    worked("deep in a recursion", 1);
    forks();
    DONE.store(0, Ordering::Relaxed);
    finish(session);
}
