//! Marks every ten milliseconds, for 300 ms, while the clock goes back (`tests/traps/clock.rs` sees to that).
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use alloc_interpose as _;

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() {
    let session = session();
    let (mut latest, mut back) = (now_ns(), 0);
    for _ in 0..30 {
        drop(black_box(vec![0u8; 1_000_000]));
        if let Some(session) = &session {
            session.snapshot("now");
            session.begin_step();
        }
        thread::sleep(Duration::from_millis(10));
        let now = now_ns();
        back += u32::from(now < latest);
        latest = now;
    }
    check("times that the clock went back", back, 2);
    finish(session);
}
