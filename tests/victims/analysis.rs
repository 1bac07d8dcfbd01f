//! Blocks whose fate is planned: which scope makes them, which frees them, what is left. The second argument names a
//! sub-program; `tests/analysis.rs` has every number. All planted blocks are whole pages above 16 KiB, so that usable
//! and requested bytes are the same, and the recorder follows each block.
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use alloc_interpose as _;
use alloc_tracker::{Expected, PeakAction, Session, layer, phase};

mod trap_kit;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn pages(count: usize) -> Vec<u8> {
    black_box(vec![1u8; count * 4096])
}

fn main() {
    let path = PathBuf::from(std::env::args().nth(1).expect("the timeline's path"));
    match std::env::args().nth(2).expect("what to try").as_str() {
        "fates" => fates(&path),
        "pause" => pause(&path),
        "threshold" => threshold(&path),
        "before" => before(&path),
        other => panic!("no such trial: {other}"),
    }
}

/// Three steps; in each, forward keeps 100 pages until backward, uses 50 in passing, leaks 10, and keeps 20 until the
/// next forward.
fn fates(path: &Path) {
    let session = Session::builder().output(path).start().expect("a session");
    let mut cache: Option<Vec<u8>> = None;
    for _ in 0..3 {
        session.begin_step();
        let keep = {
            let _phase = phase!("forward");
            let _layer = layer!("conv1");
            drop(cache.take());
            let keep = pages(100);
            drop(pages(50));
            std::mem::forget(pages(10));
            cache = Some(pages(20));
            keep
        };
        {
            let _phase = phase!("backward");
            let _layer = layer!("conv1");
            drop(keep);
        }
        session.end_step();
    }
    drop(cache);
    // Grown from 30 to 60 pages and shrunk to 40, made on one thread and freed on another.
    let mut grown = {
        let _phase = phase!("data");
        pages(30)
    };
    grown.reserve_exact(30 * 4096);
    grown.shrink_to(40 * 4096);
    std::thread::spawn(move || {
        let _phase = phase!("optimizer");
        drop(grown);
    })
    .join()
    .expect("no panic");
    session.finish().expect("the timeline");
}

/// While the session is paused, 1,000 pages are made and freed, and 30 are made and stay.
fn pause(path: &Path) {
    let session = Session::builder().output(path).start().expect("a session");
    let _phase = phase!("data");
    let first = pages(200);
    drop(first);
    session.pause();
    drop(pages(1_000));
    let stays = pages(30);
    session.resume();
    session.snapshot("after");
    drop(stays);
    session.finish().expect("the timeline");
}

fn wait_for(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < trap_kit::HANGS, "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Crosses 16 MiB twice, with everything freed in between. The environment sets a threshold of 8 MiB, crossed twice as
/// well.
fn threshold(path: &Path) {
    let session = Session::builder().output(path).dump_at(16 << 20).start().expect("a session");
    let dump = |number| path.with_file_name(format!("victim.threshold-{number}.timeline.json"));
    for number in 1..=2 {
        let block = {
            let _phase = phase!("data");
            pages(5_000)
        };
        wait_for("the dump", || dump(2 * number).exists());
        drop(block);
    }
    let asked = session.dump().expect("a dump");
    assert!(asked.ends_with("victim.dump-1.timeline.json"), "{asked:?}");
    session.finish().expect("the timeline");
}

/// Three steps of 5,000 pages. A function is called at half of the step before: in the second and the third. Another
/// one, at 8 MiB, is called in every step and asks for a dump; a third panics and is not called again.
fn before(path: &Path) {
    let calls: [Arc<AtomicU64>; 3] = Default::default();
    let count = |number: usize, action: PeakAction| {
        let calls = Arc::clone(&calls[number]);
        move |approach: &alloc_tracker::Approach| {
            assert!(approach.live_bytes >= approach.expected_bytes);
            calls.fetch_add(1, Ordering::SeqCst);
            action
        }
    };
    let panicking = Arc::clone(&calls[2]);
    let session = Session::builder()
        .output(path)
        .before_peak(Expected::ShareOfLastStep(0.5), count(0, PeakAction::Continue))
        .before_peak(Expected::Bytes(8 << 20), count(1, PeakAction::Dump))
        .before_peak(Expected::Bytes(1 << 20), move |_| {
            panicking.fetch_add(1, Ordering::SeqCst);
            panic!("meant")
        })
        .start()
        .expect("a session");
    for step in 1..=3 {
        session.begin_step();
        let block = pages(5_000);
        wait_for("the calls", || {
            calls[0].load(Ordering::SeqCst) == step - 1 && calls[1].load(Ordering::SeqCst) == step
        });
        drop(block);
        session.end_step();
    }
    let calls: Vec<u64> = calls.iter().map(|calls| calls.load(Ordering::SeqCst)).collect();
    assert_eq!(calls, [2, 3, 1]);
    session.finish().expect("the timeline");
}
