//! `tracking-allocator` over jemalloc as the tracker sets it, with tracking on, a group entered, and a tracker that
//! adds to two counters.
use std::sync::atomic::{AtomicUsize, Ordering};

use alloc_tracker as _; // its settings of jemalloc, not its allocator
use tikv_jemallocator::Jemalloc;
use tracking_allocator::{AllocationGroupId, AllocationGroupToken, AllocationRegistry, AllocationTracker, Allocator};

#[global_allocator]
static ALLOC: Allocator<Jemalloc> = Allocator::from_allocator(Jemalloc);

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static FREED: AtomicUsize = AtomicUsize::new(0);

struct Counters;

impl AllocationTracker for Counters {
    fn allocated(&self, _address: usize, _object: usize, wrapped: usize, _group: AllocationGroupId) {
        ALLOCATED.fetch_add(wrapped, Ordering::Relaxed);
    }

    fn deallocated(
        &self,
        _address: usize,
        _object: usize,
        wrapped: usize,
        _source: AllocationGroupId,
        _current: AllocationGroupId,
    ) {
        FREED.fetch_add(wrapped, Ordering::Relaxed);
    }
}

fn main() {
    AllocationRegistry::set_global_tracker(Counters).expect("the only tracker");
    AllocationRegistry::enable_tracking();
    let mut token = AllocationGroupToken::register().expect("a group");
    let _entered = token.enter();
    peers::main();
    let (allocated, freed) = (ALLOCATED.load(Ordering::Relaxed), FREED.load(Ordering::Relaxed));
    assert!(allocated > 1 << 20 && freed > 1 << 20, "tracked only {allocated} bytes made and {freed} freed");
}
