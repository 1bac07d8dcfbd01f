//! Marks every ten milliseconds, for 300 ms, while the clock goes back twice, by ten seconds and by an hour
//! (`tests/traps/clock.rs` preloads the clock). Prints how long all of that took by the kernel's clock.
use std::ffi::c_longlong;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use alloc_interpose as _;

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// The function of the preloaded library that sends all clocks back.
fn send_back() -> extern "C" fn(c_longlong) {
    // SAFETY: the name ends with a zero, and the library has a function of that name and type.
    unsafe {
        let function = libc::dlsym(libc::RTLD_DEFAULT, c"trap_send_back".as_ptr());
        assert!(!function.is_null(), "the library that has the clock is not loaded");
        std::mem::transmute(function)
    }
}

/// CLOCK_MONOTONIC as the kernel has it, in nanoseconds.
fn kernel_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid for writing.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn main() {
    let began = kernel_ns();
    let send_back = send_back();
    let session = session();
    let mut back = 0;
    for round in 0..30 {
        drop(black_box(vec![0u8; 1_000_000]));
        if let Some(session) = &session {
            session.snapshot("now");
            session.begin_step();
        }
        thread::sleep(Duration::from_millis(10));
        let seconds = match round {
            5 => 10,
            10 => 3_600,
            _ => continue,
        };
        // What passes between the recorder's last look at the clock and its next one is lost: nothing but this.
        settle();
        let before = now_ns();
        send_back(seconds);
        back += u32::from(now_ns() < before);
        if let Some(session) = &session {
            session.snapshot("back");
        }
        settle();
    }
    check("times that the clock went back", back, 2);
    finish(session);
    println!("took {} ns", kernel_ns() - began);
}
