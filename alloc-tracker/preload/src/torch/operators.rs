//! libtorch's operators, as the core is told of them.
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use alloc_torch_core::{
    Attribution, Gradient, Operator, OperatorStack, SequenceTable, TrackerHooks, is_compiled_region,
};

use super::layout::Layout;
use super::libtorch::{Libtorch, RecordFunction, Watched};
use super::{engine, nested, running};

static SEQUENCES: SequenceTable = SequenceTable::new();

/// The process's own.
pub static ATTRIBUTION: Attribution<TrackerHooks> = Attribution::new(TrackerHooks, &SEQUENCES);

/// What is watched, and where its records have their numbers, if that is known.
static WATCHED: OnceLock<(Libtorch, Option<Layout>)> = OnceLock::new();

/// Tells the core of all operators from now on, once for the process; of the layers of backward operators only with a layout.
pub fn watch(torch: Libtorch, layout: Option<Layout>) {
    if WATCHED.set((torch, layout)).is_err() {
        return;
    }
    ATTRIBUTION.prepare();
    // SAFETY: the functions leave a null in `result` and return its address.
    unsafe {
        torch.watch(Watched::Operators, operator_starts, ends);
        torch.watch(Watched::Nodes, node_starts, ends);
    }
}

unsafe extern "C" fn operator_starts(result: *mut usize, function: *const RecordFunction) -> *mut usize {
    // SAFETY: libtorch has called with both; `result` is the place of a pointer.
    unsafe {
        result.write(0);
        starts(function, Watched::Operators);
    }
    result
}

unsafe extern "C" fn node_starts(result: *mut usize, function: *const RecordFunction) -> *mut usize {
    // SAFETY: as above.
    unsafe {
        result.write(0);
        starts(function, Watched::Nodes);
    }
    result
}

unsafe extern "C" fn ends(_function: *const RecordFunction, _context: *mut c_void) {
    ends_here();
}

/// An event of the autograd engine's starts on this thread, of which libtorch does not tell.
pub fn engine_starts() {
    nested::starts(false, note_nodes());
    on_this_thread(|operators| ATTRIBUTION.engine_starts(operators));
}

/// It ends.
pub fn engine_ends() {
    ends_here();
}

fn ends_here() {
    let next = note_nodes();
    on_this_thread(|operators| ATTRIBUTION.operator_ends(operators, None));
    nested::ends(next);
}

/// Notes of the autograd nodes that were made on this thread by operators that were not told: they are of the active layer. Returns the
/// number of the thread's next node.
pub fn note_nodes() -> i64 {
    let Some((torch, layout)) = WATCHED.get() else { return -1 };
    let next = torch.next_node();
    let numbers = nested::made(next);
    if !numbers.is_empty() && layout.is_some() {
        ATTRIBUTION.nodes_were_made(torch.thread(), numbers);
    }
    next
}

/// # Safety
/// libtorch has called a callback with `function`, which has not returned.
unsafe fn starts(function: *const RecordFunction, watched: Watched) {
    let Some((torch, layout)) = WATCHED.get() else { return };
    let word = |at: usize| {
        // SAFETY: the trial has shown that the record of an operator has a number of 8 bytes there.
        unsafe { function.cast::<u64>().add(at).read() }
    };
    let is_backward = watched == Watched::Nodes;
    // A node that has no number has the largest one, which is -1.
    let sequence = layout.map_or(-1, |layout| word(layout.sequence).cast_signed());
    // SAFETY: as the caller promises.
    let name = unsafe { torch.name(function) }.to_bytes();
    let operator = Operator {
        is_backward,
        autocasts: false,
        name,
        sequence,
        thread: match layout {
            // Whose number it is does not matter then.
            _ if sequence < 0 => 0,
            Some(layout) if is_backward => word(layout.forward_thread),
            _ => torch.thread(),
        },
        variable: None,
        // A compiled region whose module's hooks were traced away is in no phase of the package's. What it trains is a forward pass;
        // without gradients it may be an optimizer's step.
        gradient: if !is_backward && is_compiled_region(name) && torch.gradients_are_on() {
            Gradient::ToCome
        } else {
            Gradient::NotTold
        },
        inputs: &[],
        tensors: &[],
    };
    if alloc_torch_core::is_engine(name) {
        engine::came(function.addr());
    }
    nested::starts(nested::hides(name, is_backward), note_nodes());
    on_this_thread(|operators| {
        ATTRIBUTION.operator_starts(operators, &operator);
    });
}

/// Does something to the stack of this thread's operators. A panic costs what it was about to tell and nothing else; a thread
/// that ends has no stack any more.
fn on_this_thread(work: impl FnOnce(&OperatorStack<TrackerHooks>)) {
    let _ = catch_unwind(AssertUnwindSafe(|| running::on_this_thread(|running| work(&running.operators))));
}
