//! Hooks for crates that instrument a framework, as `alloc-torch` instruments libtorch: names as numbers, operators,
//! and blocks by their address. Programs use the guards ([`phase!`](crate::phase!), [`layer!`](crate::layer!)) instead.
//!
//! ```
//! use alloc_tracker::hooks;
//!
//! let entered = hooks::enter_op(hooks::name("my::matmul"), None, hooks::name("forward"), 1);
//! // what this thread allocates here belongs to the operator "my::matmul"
//! hooks::leave(entered);
//! ```
use alloc_replay::{BlockSize, NameId, Parts};
use alloc_timeline::Category;

use super::guard::{self, derive};
use crate::door::label;
use crate::{ledger, scope, settings};

pub use super::entered::Entered;
pub use crate::door::label::LabelError;

/// The number of a phase, layer or operator name. Number 0 is the empty name.
///
/// ```
/// use alloc_tracker::hooks::{Name, name};
///
/// assert_eq!(name("conv1"), name("conv1"));
/// assert_ne!(name("conv1"), name("conv2"));
/// assert_eq!(name(""), Name::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name(pub NameId);

/// The names of an active scope, see [`current`].
///
/// ```
/// assert_eq!(alloc_tracker::hooks::current(), alloc_tracker::hooks::Current::default(), "no scope is active");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Current {
    /// The phase; empty when none is active.
    pub phase: Name,
    /// The layer path; empty when none is active.
    pub layer: Name,
    /// The outermost operator; empty when none is running.
    pub op: Name,
}

/// Enters the phase `name` on this thread, until [`leave`]; as [`phase!`](crate::phase!) does with a guard.
///
/// ```
/// use alloc_tracker::hooks;
///
/// let entered = hooks::enter_phase("data");
/// assert_eq!(hooks::current().phase, hooks::name("data"));
/// hooks::leave(entered);
/// ```
pub fn enter_phase(name: &str) -> Entered {
    let (scope, phase) = guard::enter_phase(name);
    Entered { scope, phase, call_around: label::op_call() }
}

/// Enters the layer `path`, below the active layer, on this thread, until [`leave`]; as [`layer!`](crate::layer!) does with a
/// guard.
///
/// ```
/// use alloc_tracker::hooks;
///
/// let [outer, inner] = ["encoder", "attention"].map(hooks::enter_layer);
/// assert_eq!(hooks::current().layer, hooks::name("encoder.attention"));
/// hooks::leave(inner);
/// hooks::leave(outer);
/// ```
pub fn enter_layer(path: &str) -> Entered {
    Entered { scope: guard::enter_layer(path), phase: 0, call_around: label::op_call() }
}

/// The number of `text`: one text has one number for the whole life of the process. A text that finds no room in the
/// table (65,536 names) gets the number of `other scopes`.
///
/// ```
/// use alloc_tracker::hooks;
///
/// assert_eq!(hooks::name("aten::add"), hooks::name("aten::add"));
/// ```
pub fn name(text: &str) -> Name {
    Name(scope::known_name(text).unwrap_or_else(|| ledger::as_tracker(|| scope::name(text))))
}

/// The text of a name; empty for a number that no name has.
///
/// ```
/// use alloc_tracker::hooks;
///
/// assert_eq!(hooks::text(hooks::name("conv1")), "conv1");
/// ```
pub fn text(name: Name) -> &'static str {
    scope::text(name.0)
}

/// Enters the layer `path` on this thread, until [`leave`], whatever layer is active: for frameworks that know the whole path.
///
/// ```
/// use alloc_tracker::hooks;
///
/// let [outer, inner] = ["encoder", "shared.embedding"].map(hooks::enter_layer_alone);
/// assert_eq!(hooks::current().layer, hooks::name("shared.embedding"));
/// hooks::leave(inner);
/// assert_eq!(hooks::current().layer, hooks::name("encoder"));
/// hooks::leave(outer);
/// ```
pub fn enter_layer_alone(path: &str) -> Entered {
    Entered { scope: guard::enter_layer_alone(path), phase: 0, call_around: label::op_call() }
}

/// [`enter_layer_alone`] for a layer whose number is known. It takes less time, because nothing is looked up by its text.
///
/// ```
/// use alloc_tracker::hooks;
///
/// let embedding = hooks::name("shared.embedding");
/// let entered = hooks::enter_numbered_layer(embedding);
/// assert_eq!(hooks::current().layer, embedding);
/// hooks::leave(entered);
/// ```
pub fn enter_numbered_layer(layer: Name) -> Entered {
    Entered { scope: guard::enter_numbered_layer(layer.0), phase: 0, call_around: label::op_call() }
}

/// Enters the operator `op` on this thread, until [`leave`].
///
/// If `layer` is given, it replaces the active layer. `phase` is entered only if no phase is active. `call` is the
/// number of this call, different for each call of an outermost operator and not 0: a block that is freed in the call
/// that allocated it is workspace. An operator within another that has a name of its own gives the number of that one, to
/// be part of its call.
///
/// ```
/// use alloc_tracker::hooks;
///
/// let (op, layer, phase) = (hooks::name("my::matmul"), hooks::name("fc"), hooks::name("forward"));
/// let entered = hooks::enter_op(op, Some(layer), phase, 7);
/// assert_eq!(hooks::current(), hooks::Current { phase, layer, op });
/// hooks::leave(entered);
/// ```
pub fn enter_op(op: Name, layer: Option<Name>, phase: Name, call: u64) -> Entered {
    let change = |parts: Parts| Parts {
        phase: if parts.phase == 0 { phase.0 } else { parts.phase },
        layer: layer.map_or(parts.layer, |layer| layer.0),
        op: op.0,
    };
    let entered = derive(change).and_then(|scope| ledger::acquire()?.enter(scope));
    // An operator that is not entered, because scopes are nested too deep, cannot be left.
    let call_around = if entered.is_some() { label::set_op_call(call) } else { label::op_call() };
    Entered { scope: entered, phase: 0, call_around }
}

/// Leaves a phase, a layer or an operator, and all that was entered in it and never left. Does nothing if a scope around it
/// has been left already.
///
/// ```
/// use alloc_tracker::hooks;
///
/// let entered = hooks::enter_op(hooks::name("my::matmul"), None, hooks::name("forward"), 1);
/// hooks::leave(entered);
/// assert_eq!(hooks::current().op, hooks::Name::default());
/// ```
pub fn leave(entered: Entered) {
    if guard::leave(entered.scope, entered.phase) {
        label::set_op_call(entered.call_around);
    }
}

/// Whether an operator runs on this thread.
///
/// ```
/// use alloc_tracker::hooks;
///
/// assert!(!hooks::is_in_op());
/// ```
pub fn is_in_op() -> bool {
    label::op_call() != 0
}

/// The names of the scope that is active on this thread.
///
/// ```
/// use alloc_tracker::hooks;
///
/// let _phase = alloc_tracker::phase!("forward");
/// assert_eq!(hooks::current().phase, hooks::name("forward"));
/// ```
pub fn current() -> Current {
    let Parts { phase, layer, op } = ledger::acquire().map_or(Parts::default(), |slot| scope::parts(slot.scope()));
    Current { phase: Name(phase), layer: Name(layer), op: Name(op) }
}

/// The layer that owns the block at `block`, which may be a device's; `None` when no tracked block starts there.
/// The address must be that of a block's start or lie in no block: inside of a block, the answer may be wrong.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
/// use alloc_tracker::{hooks, layer};
///
/// let _layer = layer!("conv1");
/// let weights = vec![0u8; 4096];
/// assert_eq!(hooks::layer_of(weights.as_ptr()), Some(hooks::name("conv1")));
/// ```
pub fn layer_of(block: *const u8) -> Option<Name> {
    label::owner(block).map(|owner| Name(scope::parts(owner).layer))
}

/// The phase in which the block at `block` was allocated, which may be a device's; `None` when no tracked block starts there.
/// The address must be that of a block's start or lie in no block: inside of a block, the answer may be wrong.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
/// use alloc_tracker::{hooks, phase};
///
/// let _phase = phase!("data");
/// let images = vec![0u8; 4096];
/// assert_eq!(hooks::phase_of(images.as_ptr()), Some(hooks::name("data")));
/// ```
pub fn phase_of(block: *const u8) -> Option<Name> {
    label::owner(block).map(|owner| Name(scope::parts(owner).phase))
}

/// Whether a tracked block starts at `block`.
/// The address must be that of a block's start or lie in no block: inside of a block, the answer may be wrong.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
/// use alloc_tracker::hooks;
///
/// let weights = vec![0u8; 4096];
/// assert!(hooks::is_tracked(weights.as_ptr()));
/// assert!(!hooks::is_tracked(b"text".as_ptr()), "this is part of the program and not allocated");
/// ```
pub fn is_tracked(block: *const u8) -> bool {
    label::owner(block).is_some()
}

/// The size of the block at `block`, in bytes; `None` when no tracked block starts there.
/// The address must be that of a block's start or lie in no block: inside of a block, the answer may be wrong.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
/// use alloc_tracker::hooks;
///
/// let weights = vec![0u8; 5000];
/// let size = hooks::size_of(weights.as_ptr()).expect("a tracked block");
/// assert_eq!((size.requested, size.usable), (5000, 5120), "jemalloc's size class");
/// ```
pub fn size_of(block: *const u8) -> Option<BlockSize> {
    label::size(block)
}

/// Announces the category of a block, such as a tensor's storage, that this thread is about to allocate with an
/// alignment of more than 16 bytes. The announcement holds for one block; `None` takes it back.
///
/// ```
/// use alloc_tracker::{Category, hooks};
///
/// hooks::expect_storage(Some(Category::Activation));
/// // here the framework allocates the storage, for example with posix_memalign
/// hooks::expect_storage(None); // no later block may take the announcement, if that one did not
/// ```
pub fn expect_storage(category: Option<Category>) {
    label::announce(category);
}

/// Labels the block at `block` with a category, which holds for the block's whole life, or until another label. (What was labelled as a
/// parameter, a buffer, a gradient or an optimizer's state stays that when it is labelled as an input.) If the block was allocated in
/// no layer, the layer `layer` becomes its owner, if one is given.
///
/// `block` must be the start of a block.
///
/// # Errors
/// When no session records, when no tracked block starts at `block`, or when the block has less than 64 bytes or is the
/// tracker's own; see [`LabelError`].
///
/// ```no_run
/// use alloc_tracker::{Category, Session, hooks};
///
/// let session = Session::builder().output("run.timeline.json").start()?;
/// let mut weights = vec![0u8; 4096];
/// hooks::label(weights.as_mut_ptr(), Category::Parameter, Some(hooks::name("conv1")))?;
/// session.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn label(block: *mut u8, category: Category, layer: Option<Name>) -> Result<(), LabelError> {
    label::label(block, category, layer.unwrap_or_default().0, |_| false)
}

/// As [`label`], for a block whose layer is better known than where it was allocated: it becomes `layer`'s also if it was allocated in a
/// layer that `gives_way` says yes to.
///
/// # Errors
/// As for [`label`].
pub fn label_of_layer(
    block: *mut u8,
    category: Category,
    layer: Name,
    gives_way: impl FnOnce(Name) -> bool,
) -> Result<(), LabelError> {
    label::label(block, category, layer.0, |allocated_in| gives_way(Name(allocated_in)))
}

/// Says that an operator that read the blocks at these addresses ends on this thread, in the active scope. Told of all storages that
/// operators read, the recorder finds those at the peak that nobody reads again. Does nothing without a session, and for
/// blocks that are not followed.
/// Each address must be that of a block's start or lie in no block.
///
/// ```
/// use alloc_tracker::hooks;
///
/// let weights = vec![0u8; 5000];
/// hooks::read([weights.as_ptr()]);
/// ```
pub fn read(blocks: impl IntoIterator<Item = *const u8>) {
    label::read(blocks);
}

/// Says what a layer is, in words that stand beside its name wherever that is printed. An empty text takes that back.
///
/// ```
/// use alloc_tracker::hooks;
///
/// hooks::describe_layer(hooks::name("conv1"), "7x7 convolution, 3 to 64 channels, stride 2");
/// ```
pub fn describe_layer(layer: Name, kind: &str) {
    ledger::as_tracker(|| scope::describe_layer(layer.0, kind));
}

/// Whether this process is tracked: `false` with `ALLOC_TRACKER=off` in the environment.
///
/// ```
/// if alloc_tracker::hooks::is_on() {
///     // register the framework's callbacks
/// }
/// ```
pub fn is_on() -> bool {
    settings::mode() != settings::Mode::Off
}
