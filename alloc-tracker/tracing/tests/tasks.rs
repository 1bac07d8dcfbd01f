//! Bytes go to the span in which they are allocated: on one thread, and in tasks that a runtime moves between threads.
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use alloc_timeline::Timeline;
use alloc_tracker::hooks;
use tracing::{Instrument, info_span};
use tracing_subscriber::prelude::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// The names of the phase and of the layer that own the block.
fn owner(block: &[u8]) -> (&'static str, &'static str) {
    let tracked = |name: Option<hooks::Name>| hooks::text(name.expect("a tracked block"));
    (tracked(hooks::phase_of(block.as_ptr())), tracked(hooks::layer_of(block.as_ptr())))
}

fn block() -> Vec<u8> {
    vec![1; 5000]
}

/// Runs `work` with spans as `scopes` says.
fn with<T>(scopes: alloc_tracing::Scopes, work: impl FnOnce() -> T) -> T {
    tracing::subscriber::with_default(tracing_subscriber::registry().with(scopes), work)
}

#[test]
fn spans_are_layers_and_phases() {
    with(alloc_tracing::scopes(), || {
        let forward = info_span!("forward", memory = "phase").entered();
        let encoder = info_span!("encoder").entered();
        let outer = block();
        let inner = info_span!("attention").in_scope(block);
        let ignored = info_span!("request", memory = "none").in_scope(block);
        drop((encoder, forward));
        assert_eq!(owner(&outer), ("forward", "encoder"));
        assert_eq!(owner(&inner), ("forward", "encoder.attention"));
        assert_eq!(owner(&ignored), ("forward", "encoder"));
        assert_eq!(owner(&block()), ("", ""));
    });
}

/// This file is the module `tasks`.
#[test]
fn targets_say_what_spans_are() {
    with(alloc_tracing::scopes().phases("tasks"), || {
        assert_eq!(owner(&info_span!("training").in_scope(block)), ("training", ""));
        assert_eq!(owner(&info_span!(target: "model", "conv1").in_scope(block)), ("", "conv1"));
    });
    with(alloc_tracing::scopes().layers("model").only_listed(), || {
        assert_eq!(owner(&info_span!("training").in_scope(block)), ("", ""));
        assert_eq!(owner(&info_span!(target: "model::head", "fc").in_scope(block)), ("", "fc"));
    });
}

/// A span has the scope that the first part of a subscriber makes of it, and the others leave it alone.
#[test]
fn a_subscriber_may_have_several_parts() {
    let phases = alloc_tracing::scopes().phases("tasks").only_listed();
    let subscriber = tracing_subscriber::registry().with(phases).with(alloc_tracing::scopes());
    tracing::subscriber::with_default(subscriber, || {
        let training = info_span!("training").entered();
        assert_eq!(owner(&block()), ("training", ""));
        assert_eq!(owner(&info_span!(target: "model", "conv1").in_scope(block)), ("training", "conv1"));
        drop(training);
        assert_eq!(owner(&block()), ("", ""));
    });
}

#[test]
fn spans_may_be_left_in_any_order() {
    with(alloc_tracing::scopes(), || {
        let (first, second) = (info_span!(parent: None, "first"), info_span!(parent: None, "second"));
        let first = first.entered();
        let second = second.entered();
        drop(first);
        assert_eq!(owner(&block()), ("", "second"));
        drop(second);
        assert_eq!(owner(&block()), ("", ""));
    });
}

/// What is active where a span without a parent is made is around it, also when it is entered on another thread.
#[test]
fn a_span_takes_the_scope_around_it_along() {
    with(alloc_tracing::scopes(), || {
        let span = {
            let _phase = alloc_tracker::phase("data");
            info_span!("loader")
        };
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let bytes = std::thread::spawn(move || tracing::dispatcher::with_default(&dispatch, || span.in_scope(block)));
        assert_eq!(owner(&bytes.join().expect("it ends")), ("data", "loader"));
    });
}

/// A future is polled on two threads, of which the second is in another span meanwhile.
#[test]
fn a_future_takes_its_span_to_another_thread() {
    async fn two_blocks() -> [Vec<u8>; 2] {
        let first = block();
        tokio::task::yield_now().await;
        [first, block()]
    }

    with(alloc_tracing::scopes(), || {
        let mut task = Box::pin(two_blocks().instrument(info_span!("task")));
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let mut poll = || {
            let on_another_thread = || {
                tracing::dispatcher::with_default(&dispatch, || {
                    let _other = info_span!("other").entered();
                    let polled = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    assert_eq!(owner(&block()), ("", "other"));
                    polled
                })
            };
            std::thread::scope(|threads| threads.spawn(on_another_thread).join().expect("it ends"))
        };
        assert!(poll().is_pending());
        let Poll::Ready(blocks) = poll() else { panic!("it yields once") };
        assert_eq!(blocks.each_ref().map(|block| owner(block)), [("", "task"); 2]);
    });
}

/// Spans, each with its name.
macro_rules! spans {
    ($($name:literal)*) => { [$(($name, info_span!($name))),*] };
}

/// Eight tasks on two threads allocate a part, let others run, and allocate the next: 20 parts of 5,000 bytes each. All of a
/// task's parts are its own, although tasks of other names ran between them on the same threads.
#[test]
fn tasks_own_what_they_allocate_on_whichever_thread() {
    const TASKS: usize = 8;
    const PARTS: usize = 20;
    static BEGUN: AtomicUsize = AtomicUsize::new(0);

    async fn parts() -> Vec<Vec<u8>> {
        let mut parts = Vec::new();
        BEGUN.fetch_add(1, Ordering::SeqCst);
        // All have begun before one goes on.
        while BEGUN.load(Ordering::SeqCst) < TASKS {
            tokio::task::yield_now().await;
        }
        for _ in 0..PARTS {
            parts.push(info_span!("part").in_scope(block));
            tokio::task::yield_now().await;
        }
        parts
    }

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tasks.timeline.json");
    let registry = tracing_subscriber::registry().with(alloc_tracing::scopes());
    tracing::subscriber::set_global_default(registry).expect("no other test sets it");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let session = alloc_tracker::Session::builder().output(&path).quiet().start().expect("a session");
    let done: Vec<_> = runtime.block_on(async {
        let training = info_span!("training", memory = "phase").entered();
        let spans = spans!("task0" "task1" "task2" "task3" "task4" "task5" "task6" "task7");
        drop(training);
        let tasks = spans.map(|(name, span)| (name, tokio::spawn(parts().instrument(span))));
        let mut done = Vec::new();
        for (name, task) in tasks {
            done.push((name, task.await.expect("it ends")));
        }
        done
    });
    // A thread that ends publishes what it had not published yet; so the table is right to the byte.
    drop(runtime);
    session.snapshot("done");
    session.finish().expect("written");
    let timeline: Timeline = alloc_timeline::load(&path).expect("a timeline");
    let table = timeline.marks.iter().find_map(|mark| mark.snapshot.as_ref()).expect("the mark has a table");
    for (name, parts) in &done {
        let layer = format!("{name}.part");
        for part in parts {
            assert_eq!(owner(part), ("training", layer.as_str()));
        }
        let rows = table.rows.iter().filter(|row| timeline.scopes[row.scope as usize].layer == layer);
        assert_eq!(rows.map(|row| row.requested_bytes).sum::<u64>(), (PARTS * 5000) as u64, "{layer}");
    }
}
