//! Operators as scopes. The outermost operator gives its name to what is allocated in it (`aten::conv2d`, not the
//! `aten::empty` deep inside); in the backward pass that is the autograd node (`ConvolutionBackward0`), in the layer of
//! the forward operator that created it.
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
//!
//! Within an operator only a conversion that autocast asks for, `aten::_to_copy`, has a scope of its own: what is made of
//! parameters and maps on the way into an operator is told apart from what the operator leaves. It stays part of the call
//! around it, so that a copy which that call frees is workspace.
//!
//! In the phase `optimizer`, an operator outside of any layer is of the layer that allocated what it reads: the parameter,
//! its gradient, or state that was made of them (`aten::zeros_like`, `aten::clone`).
//!
//! A region that `torch.compile` made is an operator and a layer of its own (`compiled.rs`), also within another.
//!
//! An operator that runs in no phase of the program's is in a derived one, if its nature tells which (`derive.rs`).
use std::fmt;
use std::iter;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use alloc_tracker::hooks::{Current, LabelError, Name};
use alloc_tracker::{Category, DerivedPhase};

use crate::category::{BACKWARD, KnownNames, OPTIMIZER, work};
use crate::compiled;
use crate::derive::{self, Trained};
use crate::event::{Operator, Storage};
use crate::hooks::Hooks;
use crate::kind::{self, Answer, LayerKinds, News, Question};
use crate::parameters::{ParameterLayers, layer_in};
use crate::reads::read_by;
use crate::sequence::SequenceTable;
use crate::stack::{Call, Frame, OperatorStack};

/// What the names of the autograd engine's own events begin with.
const ENGINE: &[u8] = b"autograd::engine::evaluate_function";
/// The operator that makes a copy of another type.
const CONVERSION: &[u8] = b"aten::_to_copy";

/// Whether an operator is the autograd engine's own event.
pub fn is_engine(operator: &[u8]) -> bool {
    operator.starts_with(ENGINE)
}

fn engine_starts<H: Hooks>(stack: &OperatorStack<H>, place: usize) {
    stack.set_node_layer(Name(0));
    stack.set(place, Frame::Engine);
}

/// Decides which operator, layer and phase own what libtorch allocates, and tells the tracker. One for the process; each
/// thread brings its [`OperatorStack`].
pub struct Attribution<H> {
    hooks: H,
    sequences: &'static SequenceTable,
    parameters: ParameterLayers,
    trained: Trained,
    kinds: LayerKinds,
    /// Whether the program has named a backward pass.
    names_backward: AtomicBool,
    /// The phase of the program's that was looked at last for that: phases change seldom, operators come all the time.
    looked_at: AtomicU32,
    names: OnceLock<KnownNames>,
    /// How many calls of outermost operators have begun.
    calls: AtomicU64,
}

impl<H: Hooks> Attribution<H> {
    /// An attribution that has seen nothing. `sequences` is a `static` of its own, because that of the attribution is not
    /// all zeros and would be stored in the program's file.
    pub const fn new(hooks: H, sequences: &'static SequenceTable) -> Attribution<H> {
        Attribution {
            hooks,
            sequences,
            parameters: ParameterLayers::new(),
            trained: Trained::new(),
            kinds: LayerKinds::new(),
            names_backward: AtomicBool::new(false),
            looked_at: AtomicU32::new(0),
            names: OnceLock::new(),
            calls: AtomicU64::new(0),
        }
    }

    /// Numbers the names that it needs, which otherwise happens at the first event. A face calls this when it is
    /// installed: a fork in the middle of the first event would leave the child waiting for ever, and a full table of
    /// names has no room for them later.
    pub fn prepare(&self) {
        self.names();
    }

    fn names(&self) -> &KnownNames {
        self.names.get_or_init(|| KnownNames::new(&self.hooks))
    }

    /// An operator starts on the thread of this stack. Where this returns a question, the face answers it with
    /// [`layer_is`](Attribution::layer_is) before the operator goes on.
    pub fn operator_starts(&self, stack: &OperatorStack<H>, operator: &Operator<'_>) -> Option<Question> {
        let Some(place) = stack.push() else {
            self.hooks.read(&mut operator.inputs.iter().copied());
            return None;
        };
        let mut question = None;
        let around = self.hooks.current();
        let mut own_layer = around.layer;
        let is_engine = !operator.is_backward && is_engine(operator.name);
        if is_engine {
            engine_starts(stack, place);
        } else if operator.is_backward || !stack.is_in_operator() || compiled::is_region(operator.name) {
            let phase = self.phase(stack, operator, around.phase);
            let layer = self.layer(stack, operator, around, phase);
            if operator.is_backward {
                stack.set_node_layer(layer.unwrap_or_default());
            }
            own_layer = layer.unwrap_or(around.layer);
            // 0 is no call.
            let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
            let call = Call { number, autocasts: operator.autocasts };
            stack.set(place, Frame::Named(self.enter(stack, operator, layer, phase, number), call));
            question = self.question(operator, own_layer);
        } else if operator.name == CONVERSION
            && !operator.autocasts
            && let Some(call) = stack.call().filter(|call| call.autocasts)
        {
            stack.set(place, Frame::Named(self.enter(stack, operator, None, Name(0), call.number), call));
        }
        if !is_engine {
            let no_room = |storage| self.hooks.read(&mut iter::once(storage));
            stack.will_read(read_by(operator.name, operator.inputs), no_room);
        }
        if !operator.is_backward && operator.sequence >= 0 {
            self.sequences.remember(operator.thread, operator.sequence, own_layer);
        }
        question
    }

    /// The autograd engine's own event starts, of which the face knows that it is one and not its name. It ends as an operator does.
    pub fn engine_starts(&self, stack: &OperatorStack<H>) {
        if let Some(place) = stack.push() {
            engine_starts(stack, place);
        }
    }

    /// The active operator has made the autograd nodes of these numbers, by operators within it that the face was not told of.
    pub fn nodes_were_made(&self, thread: u64, numbers: Range<i64>) {
        let layer = self.hooks.current().layer;
        numbers.for_each(|number| self.sequences.remember(thread, number, layer));
    }

    /// What the face is asked of an operator that has entered its scope, to say what its layer is.
    fn question(&self, operator: &Operator<'_>, layer: Name) -> Option<Question> {
        if operator.is_backward || operator.tensors.is_empty() {
            return None;
        }
        match if layer == Name(0) { News::Nothing } else { self.kinds.look(layer, operator) } {
            News::Ask(question) => Some(question),
            News::TakeBack => {
                self.hooks.describe_layer(layer, "");
                None
            }
            News::Nothing => None,
        }
    }

    /// The face's answer for the operator of this name, which started last on this thread.
    pub fn layer_is(&self, operator: &[u8], answer: &Answer<'_>) {
        if let Some(words) = kind::words(operator, answer) {
            self.hooks.describe_layer(self.hooks.current().layer, &words);
        }
    }

    /// The phase of an operator that enters a scope while the program is in none; the empty name when the program is in one,
    /// or nothing tells the phase. `current` is the program's.
    fn phase(&self, stack: &OperatorStack<H>, operator: &Operator<'_>, current: Name) -> Name {
        if let Some(parameter) = operator.variable {
            self.trained.insert(&self.hooks, parameter);
        }
        if current != Name(0) {
            self.look_at(current);
            return Name(0);
        }
        let derived = if operator.is_backward || stack.is_in_engine() {
            // The engine's own threads have no phase of the program's, even where it names the pass that they work for.
            if self.names_backward.load(Ordering::Relaxed) {
                return self.names().backward;
            }
            Some(DerivedPhase::Backward)
        } else {
            derive::phase_of(&self.hooks, self.names(), &self.trained, operator)
        };
        derived.map_or(Name(0), |phase| {
            self.hooks.runs_in(phase);
            self.names().derived(phase)
        })
    }

    /// An operator runs in this phase, which is the program's or a derived one around it.
    fn look_at(&self, phase: Name) {
        if self.looked_at.load(Ordering::Relaxed) == phase.0 {
            return;
        }
        self.looked_at.store(phase.0, Ordering::Relaxed);
        if work(&self.hooks, phase) == BACKWARD && phase != self.names().derived(DerivedPhase::Backward) {
            self.names_backward.store(true, Ordering::Relaxed);
        }
    }

    /// The layer of an operator that enters a scope; `None`: the active one, which is `current`'s. `phase` is what
    /// [`phase`](Self::phase) said.
    fn layer(&self, stack: &OperatorStack<H>, operator: &Operator<'_>, current: Current, phase: Name) -> Option<Name> {
        if operator.is_backward {
            let by_number =
                (operator.sequence >= 0).then(|| self.sequences.recall(operator.thread, operator.sequence)).flatten();
            let by_parameter = || self.parameters.of_parameter(&self.hooks, operator.variable?);
            return by_number.or_else(by_parameter).or(Some(stack.node_layer()));
        }
        if stack.is_in_engine() {
            return Some(stack.node_layer());
        }
        if compiled::is_region(operator.name) {
            return Some(compiled::layer(&self.hooks, operator.name, current.layer));
        }
        if current.layer != Name(0) {
            return None;
        }
        // An optimizer works on one parameter after the other, outside of all layers: its state is the parameter's layer's.
        let is_optimizer = if current.phase == Name(0) {
            phase == self.names().derived(DerivedPhase::Optimizer)
        } else {
            work(&self.hooks, current.phase) == OPTIMIZER
        };
        self.parameters.of_inputs(&self.hooks, operator.inputs, operator.tensors, is_optimizer)
    }

    /// Enters an operator's scope; in `phase` where the program is in none.
    fn enter(
        &self,
        stack: &OperatorStack<H>,
        operator: &Operator<'_>,
        layer: Option<Name>,
        phase: Name,
        call: u64,
    ) -> H::Entered {
        let name = stack.names().name(&self.hooks, operator.name);
        self.hooks.enter_op(name, layer, phase, call)
    }

    /// The operator that started last on the thread of this stack ends; `gradient` is the storage of the gradient that it
    /// leaves, if it is an `AccumulateGrad` node. An end without a start is passed over.
    pub fn operator_ends(&self, stack: &OperatorStack<H>, gradient: Option<Storage>) {
        let Some(frame) = stack.pop(|storages| self.hooks.read(storages)) else { return };
        if let Frame::Named(entered, _) = frame {
            self.hooks.leave(entered);
        }
        if let Some(gradient) = gradient {
            // A gradient that the tracker does not know, or while nobody records, has no label.
            let _ = self.hooks.label(gradient, Category::Gradient, None);
        }
    }

    /// The next aligned block that this thread allocates is a tensor's storage: the tracker is told its category, which
    /// follows from the active phase and operator.
    pub fn expect_storage(&self) {
        self.hooks.expect_storage(Some(self.storage_category(self.hooks.current())));
    }

    /// What a storage is for that is allocated in the scope `current`, as its phase and operator say.
    pub fn storage_category(&self, current: Current) -> Category {
        self.names().category(&self.hooks, current)
    }

    /// Takes [`expect_storage`](Attribution::expect_storage) back. Harmless when the block was allocated.
    pub fn expect_no_storage(&self) {
        self.hooks.expect_storage(None);
    }

    /// Says what a storage is for, for its whole life.
    ///
    /// # Errors
    /// [`LabelError::NotRecording`] without a session, [`LabelError::UnknownBlock`] for a storage that the tracker does
    /// not know or none, [`LabelError::TooSmall`] for one that the tracker does not know by its address.
    pub fn label(&self, storage: Option<Storage>, category: Category) -> Result<(), LabelError> {
        self.hooks.label(storage.ok_or(LabelError::UnknownBlock)?, category, None)
    }

    /// Labels the storages of variables, given by path: those among `trainable` as parameters, the others as buffers.
    /// Variables that were allocated in no layer become the layer's that their path names. A storage that the tracker does
    /// not take in is passed over.
    pub fn label_variables(
        &self,
        variables: impl IntoIterator<Item = (impl AsRef<str>, Option<Storage>)>,
        trainable: &[Option<Storage>],
    ) {
        for (path, storage) in variables {
            let layer = self.layer_named_by(path.as_ref());
            let is_trainable = trainable.contains(&storage);
            let category = if is_trainable { Category::Parameter } else { Category::Buffer };
            if let Some(storage) = storage {
                let _ = self.hooks.label(storage, category, Some(layer));
            }
        }
    }

    /// Names layers by parameters, given by path: from now on an operator outside of any layer belongs to the layer of the
    /// first parameter that it reads (`fc1.weight` makes it `fc1`), and one that reads none to the layer of its first input
    /// that has one. Operators must tell their inputs for that.
    pub fn name_layers(&self, variables: impl IntoIterator<Item = (impl AsRef<str>, Option<Storage>)>) {
        for (path, storage) in variables {
            let layer = self.layer_named_by(path.as_ref());
            if let Some(storage) = storage {
                self.parameters.insert(storage, layer);
            }
        }
    }

    /// As [`name_layers`](Attribution::name_layers) for one parameter, which keeps its layer when its tensor is given another
    /// storage. `tensor` is what operators call it in [`Operator::tensors`]. Returns whether that tensor was not known before:
    /// then the face sees to it that no other tensor is called so.
    pub fn name_layer_of(&self, path: &str, storage: Storage, tensor: usize) -> bool {
        self.parameters.insert_tensor(tensor, storage, self.layer_named_by(path))
    }

    fn layer_named_by(&self, path: &str) -> Name {
        self.hooks.name(layer_in(path))
    }
}

impl<H> fmt::Debug for Attribution<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attribution").field("calls", &self.calls).finish_non_exhaustive()
    }
}
