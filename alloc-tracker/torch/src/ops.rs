//! Operators as scopes. The outermost operator gives its name to what is allocated in it (`aten::conv2d`, not the
//! `aten::empty` deep inside); in the backward pass that is the autograd node (`ConvolutionBackward0`), in the layer that
//! made it.
//!
//! What one thread sees of a backward pass:
//!
//! ```text
//! autograd::engine::evaluate_function: ReluBackward0      the engine: no operator of its own
//!   ReluBackward0              (BACKWARD, number 17)      a node: layer of operator 17
//!     aten::threshold_backward                            nested: nothing changes
//!   aten::add_                                            gradients of two paths summed: layer of the node before
//! autograd::engine::evaluate_function: AccumulateGrad
//!   torch::autograd::AccumulateGrad  (BACKWARD, -1)       layer of its parameter; leaves that parameter's gradient
//! ```
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_tracker::Category;
use alloc_tracker::hooks::{self, Entered, Name};

use crate::{sequence, variables};

unsafe extern "C" {
    fn alloc_torch_watch_ops(with_inputs: bool);
}

/// Watches operators from now on; with inputs, each tells which storages it reads.
pub fn watch(with_inputs: bool) {
    // SAFETY: it only registers callbacks that stay valid for the process's life.
    unsafe { alloc_torch_watch_ops(with_inputs) };
}

/// Operators nested deeper than this on one thread are not looked at; their bytes belong to the one around them.
const MAX_DEPTH: usize = 128;
const ENGINE: &[u8] = b"autograd::engine::evaluate_function";

/// A running operator of this thread.
#[derive(Clone, Copy)]
enum Frame {
    /// The engine's own event.
    Engine,
    /// An operator within another.
    Nested,
    /// An operator that gave its name.
    Outermost(Entered),
}

/// What this thread is running.
struct Running {
    depth: Cell<usize>,
    frames: [Cell<Frame>; MAX_DEPTH],
    /// Whether an operator has given its name.
    named: Cell<bool>,
    /// How many of the frames are the engine's.
    engines: Cell<usize>,
    /// Layer of the autograd node that ran last.
    last_layer: Cell<Name>,
}

thread_local! {
    static RUNNING: Running = const {
        Running {
            depth: Cell::new(0),
            frames: [const { Cell::new(Frame::Nested) }; MAX_DEPTH],
            named: Cell::new(false),
            engines: Cell::new(0),
            last_layer: Cell::new(Name(0)),
        }
    };
}

static NEXT_CALL: AtomicU64 = AtomicU64::new(1);

/// One operator as the shim tells of it.
struct Op<'a> {
    backward: bool,
    name: &'a [u8],
    sequence: i64,
    thread: u64,
    variable: *const u8,
    inputs: &'a [*const u8],
}

impl Running {
    fn start(&self, op: &Op<'_>) {
        let depth = self.depth.get();
        self.depth.set(depth + 1);
        let Some(frame) = self.frames.get(depth) else { return };
        frame.set(if !op.backward && op.name.starts_with(ENGINE) {
            self.engines.set(self.engines.get() + 1);
            self.last_layer.set(Name(0));
            Frame::Engine
        } else if self.named.get() && !op.backward {
            Frame::Nested
        } else {
            let layer = self.layer(op);
            if op.backward {
                self.last_layer.set(layer.unwrap_or_default());
            }
            let name = hooks::name(&String::from_utf8_lossy(op.name));
            let phase = if op.backward { hooks::name("backward") } else { Name(0) };
            let call = NEXT_CALL.fetch_add(1, Ordering::Relaxed);
            self.named.set(true);
            Frame::Outermost(hooks::enter_op(name, layer, phase, call))
        });
        if !op.backward && op.sequence >= 0 {
            sequence::remember(op.thread, op.sequence, hooks::current_layer());
        }
    }

    /// The layer of an operator that gives its name; `None`: the active one.
    fn layer(&self, op: &Op<'_>) -> Option<Name> {
        if op.backward {
            let made_in = if op.sequence >= 0 { sequence::recall(op.thread, op.sequence) } else { None };
            return made_in.or_else(|| variables::layer_of(op.variable)).or(Some(self.last_layer.get()));
        }
        if self.engines.get() > 0 {
            return Some(self.last_layer.get());
        }
        (hooks::current_layer() == Name(0)).then(|| variables::layer_by_inputs(op.inputs)).flatten()
    }

    fn end(&self, gradient: *mut u8) {
        let Some(depth) = self.depth.get().checked_sub(1) else { return };
        self.depth.set(depth);
        match self.frames.get(depth).map(Cell::get) {
            Some(Frame::Engine) => self.engines.set(self.engines.get() - 1),
            Some(Frame::Outermost(entered)) => {
                // A node that runs within an operator's own backward call (a custom function) was named inside another.
                self.named.set(self.frames[..depth].iter().any(|outer| matches!(outer.get(), Frame::Outermost(_))));
                hooks::leave(entered);
            }
            Some(Frame::Nested) | None => {}
        }
        if !gradient.is_null() {
            hooks::label(gradient, Category::Gradient, None);
        }
    }
}

/// An operator starts.
///
/// # Safety
/// Called by the shim alone: `name` has `name_length` bytes and `inputs` `input_count` pointers.
#[unsafe(no_mangle)]
unsafe extern "C" fn alloc_torch_op_start(
    backward: bool,
    name: *const c_char,
    name_length: usize,
    sequence: i64,
    forward_thread: u64,
    variable: *const c_void,
    inputs: *const *const c_void,
    input_count: usize,
) {
    // SAFETY: as the shim promises.
    let (name, inputs) = unsafe {
        (
            std::slice::from_raw_parts(name.cast::<u8>(), name_length),
            std::slice::from_raw_parts(inputs.cast::<*const u8>(), input_count),
        )
    };
    let op = Op { backward, name, sequence, thread: forward_thread, variable: variable.cast(), inputs };
    RUNNING.with(|running| running.start(&op));
}

/// The operator that started last on this thread ends; `gradient` is the storage of the gradient that it leaves, if it
/// is an AccumulateGrad node.
#[unsafe(no_mangle)]
extern "C" fn alloc_torch_op_end(gradient: *mut c_void) {
    RUNNING.with(|running| running.end(gradient.cast()));
}

/// The next aligned block of this thread is a storage, or that is taken back.
#[unsafe(no_mangle)]
extern "C" fn alloc_torch_expect_storage(expected: bool) {
    hooks::expect_storage(expected);
}
