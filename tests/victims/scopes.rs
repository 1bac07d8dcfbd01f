//! Unusual uses of scopes; the second argument names a sub-program. Each makes blocks of known sizes and takes a
//! snapshot; `tests/scopes.rs` says which scopes must own them.
use std::future::Future;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use alloc_interpose as _;
use alloc_tracker::{Session, capture, layer, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// A block that is never freed.
fn plant(bytes: usize) {
    std::mem::forget(black_box(vec![1u8; bytes]));
}

fn main() {
    let path = std::env::args().nth(1).expect("the timeline's path");
    let what = std::env::args().nth(2).expect("what to try");
    let session = Session::builder().output(path).start().expect("a session");
    // Names of marks and of layers are in one table, which `many` fills up. This mark's name must be in it before.
    session.mark("done");
    match what.as_str() {
        "out-of-order" => out_of_order(),
        "leaked" => leaked(),
        "panicking" => panicking(),
        "recursion" => recursion(),
        "threads" => threads(),
        "future" => future(),
        "many" => many(),
        other => panic!("no such trial: {other}"),
    }
    session.snapshot("done");
    session.finish().expect("the timeline");
}

/// The outer guard is dropped first. The inner one, dropped later, must not restore its scope.
fn out_of_order() {
    let outer = phase!("outer");
    let inner = layer!("inner");
    plant(1_000);
    drop(outer);
    plant(2_000);
    drop(inner);
    plant(3_000);
    let _after = phase!("after");
    plant(4_000);
}

/// A guard that is never dropped ends with the one around it.
fn leaked() {
    {
        let _outer = phase!("outer");
        std::mem::forget(layer!("forgotten"));
        plant(1_000);
    }
    plant(2_000);
    let _after = phase!("after");
    plant(4_000);
}

/// Guards that a panic drops leave their scopes like others.
fn panicking() {
    let _outer = phase!("outer");
    std::panic::set_hook(Box::new(|_| {}));
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _inner = layer!("inner");
        plant(1_000);
        panic!("as asked for");
    }));
    assert!(caught.is_err());
    plant(2_000);
}

/// 300 layers within each other, 1,000 bytes in each; then 2,000 outside of all.
fn recursion() {
    fn descend(left: u32) {
        if left > 0 {
            let _deeper = layer!("r");
            plant(1_000);
            descend(left - 1);
        }
    }
    descend(300);
    plant(2_000);
}

/// A scope captured here is attached on two threads; a third has none.
fn threads() {
    let scope = {
        let _phase = phase!("outer");
        let _layer = layer!("inner");
        capture()
    };
    let work = move || {
        let attached = scope.attach();
        plant(1_000);
        drop(attached);
        let _own = phase!("own");
        plant(2_000);
    };
    let alone = || {
        let _layer = layer!("alone");
        plant(4_000);
    };
    for thread in [std::thread::spawn(work), std::thread::spawn(work), std::thread::spawn(alone)] {
        thread.join().expect("the thread ends");
    }
}

/// Plants 1,000 bytes at every poll; ready at the third.
struct Polls(u32);

impl Future for Polls {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        plant(1_000);
        self.0 += 1;
        if self.0 < 3 { Poll::Pending } else { Poll::Ready(()) }
    }
}

/// A future that is polled here, on another thread, and here again, while both threads have scopes of their own.
fn future() {
    let instrumented = {
        let _phase = phase!("outer");
        let _layer = layer!("task");
        capture().instrument(Polls(0))
    };
    let mut instrumented = pin!(instrumented);
    let _here = phase!("here");
    let poll = |future: Pin<&mut alloc_tracker::Instrumented<Polls>>| {
        let ready = future.poll(&mut Context::from_waker(Waker::noop())).is_ready();
        plant(2_000);
        ready
    };
    assert!(!poll(instrumented.as_mut()));
    let there = instrumented.as_mut();
    std::thread::scope(|threads| {
        let thread = threads.spawn(move || {
            let _there = phase!("there");
            assert!(!poll(there));
        });
        // The end of `thread::scope` does not wait for the thread's own end, at which its counts are handed over.
        thread.join().expect("the thread ends");
    });
    assert!(poll(instrumented.as_mut()));
}

/// 70,000 layers, more than there is room for, 48 bytes in each.
fn many() {
    for number in 0..70_000 {
        let name = format!("many.{number}");
        let _layer = layer!(&name);
        plant(48);
    }
    let _after = phase!("infer");
    plant(5_000);
}
