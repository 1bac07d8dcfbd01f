//! What runs on a thread: operators and events of libtorch's, and modules of Python's. A thread gets the memory for it with its first one, and
//! a word has the address: `thread_local!` alone takes a call for each look.
use std::cell::{Cell, RefCell};
use std::ptr;

use alloc_torch_core::{OperatorStack, TrackerHooks};
use alloc_tracker::thread_word;
use alloc_tracker::unaided::as_tracker;

thread_word!(
    /// What runs on this thread; null before the first, and when the thread ends.
    own: *const crate::torch::running::Running, "alloc_tracker_running", const 0, std::ptr::null()
);

thread_local! {
    /// Frees it when the thread ends.
    static OWNER: Owner = const { Owner(Cell::new(ptr::null())) };
}

/// So many of the autograd engine's events may run on a thread without a name, within each other.
pub const MOST_EVENTS: usize = 16;

/// What runs on a thread. It has 12 KiB.
pub struct Running {
    /// Operators, as the core is told of them.
    pub operators: OperatorStack<TrackerHooks>,
    /// The modules whose forward pass runs, by address, each with its scope; the outermost first.
    pub modules: RefCell<Vec<(usize, u64)>>,
    /// What is told and runs, a bit for each, the innermost last: whether nothing need be told within it. Bits of more than 64 are lost, and
    /// then all is told.
    pub hiding: Cell<u64>,
    /// The number of the first node for which no operator was noted.
    pub first_node: Cell<i64>,
    /// The record that was made last, and from where.
    pub made_record: Cell<(usize, usize)>,
    /// The record of an event that came with its name and runs, and from where.
    pub named_event: Cell<(usize, usize)>,
    /// The records of the events that run without a name, the innermost last.
    pub events: [Cell<usize>; MOST_EVENTS],
    /// How many these are.
    pub event_count: Cell<usize>,
}

impl Running {
    fn new() -> Self {
        let (modules, hiding, first_node, made_record, named_event, events, event_count) = Default::default();
        let operators = OperatorStack::new();
        Running { operators, modules, hiding, first_node, made_record, named_event, events, event_count }
    }
}

/// Does something with what runs on this thread. A thread that ends has nothing any more: `None`.
pub fn on_this_thread<T>(work: impl FnOnce(&Running) -> T) -> Option<T> {
    let mut running = own::get();
    if running.is_null() {
        running = first()?;
    }
    // SAFETY: the pointer is to the thread's own, which lives until the thread's end. It is only reached through this function, and as a
    // shared reference.
    Some(work(unsafe { &*running }))
}

#[cold]
fn first() -> Option<*const Running> {
    OWNER
        .try_with(|owner| {
            let running: *const Running = as_tracker(|| Box::into_raw(Box::new(Running::new())));
            owner.0.set(running);
            own::set(running);
            running
        })
        .ok()
}

struct Owner(Cell<*const Running>);

impl Drop for Owner {
    fn drop(&mut self) {
        own::set(ptr::null());
        let running = self.0.get();
        if !running.is_null() {
            // SAFETY: `first` made it from a box, and nobody finds it any more. No call of `on_this_thread` is under way: a thread's
            // variables are destroyed when its functions have returned.
            drop(unsafe { Box::from_raw(running.cast_mut()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_until_it_ends() {
        struct AtTheEnd;
        impl Drop for AtTheEnd {
            fn drop(&mut self) {
                let is_there = on_this_thread(|running| running.modules.borrow().len());
                assert!(matches!(is_there, None | Some(1)), "after its end, or before");
            }
        }
        thread_local! {
            static EARLIER: AtTheEnd = const { AtTheEnd };
        }
        let thread = std::thread::spawn(|| {
            EARLIER.with(|_| ());
            on_this_thread(|running| running.modules.borrow_mut().push((1, 0)));
            on_this_thread(|running| running.modules.borrow().len())
        });
        assert_eq!(thread.join().expect("no panic"), Some(1));
        assert_eq!(on_this_thread(|running| running.modules.borrow().len()), Some(0));
    }
}
