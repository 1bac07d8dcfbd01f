//! A tracker that only writes down what it is told, and threads that run made-up operators.
#![allow(dead_code, reason = "each test file uses its part")]
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloc_torch_core::{Answer, Attribution, Gradient, Hooks, Operator, OperatorStack, Storage};
use alloc_tracker::hooks::{Current, LabelError, Name};
use alloc_tracker::{Category, DerivedPhase};

/// Phase, layer and operator as texts.
pub type Scope = [&'static str; 3];

/// What the tracker knows and was told.
#[derive(Debug)]
pub struct State {
    /// Texts by number, but for the empty one. They stay to the end of the test, as the tracker's do.
    names: Vec<&'static str>,
    /// The active scope.
    current: Current,
    /// The call that each `enter_op` gave, in order.
    pub calls: Vec<u64>,
    /// Storage -> layer that allocated it.
    allocated_in: BTreeMap<usize, Name>,
    /// Storage -> phase in which it was allocated.
    phases: BTreeMap<usize, Name>,
    /// The derived phases that outermost operators ran in, in order.
    pub ran_in: Vec<DerivedPhase>,
    /// The labels in order: storage, category, layer.
    pub labels: Vec<(usize, Category, Option<String>)>,
    /// What layers are, in the order in which it was said.
    pub kinds: Vec<(String, String)>,
    /// The storages that were read, in order, and the operator that was active.
    pub read: Vec<(usize, String)>,
    /// What `expect_storage` said, in order.
    pub expected: Vec<Option<Category>>,
}

/// The tracker. One active scope: the tests run their threads one after another.
#[derive(Debug)]
pub struct MadeUp(Mutex<State>);

impl MadeUp {
    pub const fn new() -> MadeUp {
        MadeUp(Mutex::new(State {
            names: Vec::new(),
            current: Current { phase: Name(0), layer: Name(0), op: Name(0) },
            calls: Vec::new(),
            allocated_in: BTreeMap::new(),
            phases: BTreeMap::new(),
            ran_in: Vec::new(),
            kinds: Vec::new(),
            labels: Vec::new(),
            read: Vec::new(),
            expected: Vec::new(),
        }))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program enters a scope, or leaves it with empty names.
    pub fn enters(&self, phase: &str, layer: &str) {
        let current = Current { phase: self.name(phase), layer: self.name(layer), op: Name(0) };
        self.state().current = current;
    }

    /// A storage was allocated in `layer`.
    pub fn allocates(&self, storage: usize, layer: &str) {
        let layer = self.name(layer);
        self.state().allocated_in.insert(storage, layer);
    }

    /// A storage was allocated in `phase`.
    pub fn allocates_in_phase(&self, storage: usize, phase: &str) {
        let phase = self.name(phase);
        self.state().phases.insert(storage, phase);
    }

    /// The active scope.
    pub fn scope(&self) -> [String; 3] {
        let state = self.state();
        let Current { phase, layer, op } = state.current;
        [phase, layer, op].map(|name| state.text(name))
    }
}

impl State {
    fn name_text(&self, name: Name) -> &'static str {
        if name == Name(0) { "" } else { self.names[name.0 as usize - 1] }
    }

    fn text(&self, name: Name) -> String {
        self.name_text(name).to_owned()
    }
}

/// `&'static`, so that the attribution can have it and the test as well.
impl Hooks for &'static MadeUp {
    /// The scope around it.
    type Entered = Current;

    fn name(&self, text: &str) -> Name {
        MadeUp::name(self, text)
    }

    fn text(&self, name: Name) -> &'static str {
        self.state().name_text(name)
    }

    fn current(&self) -> Current {
        self.state().current
    }

    fn enter_op(&self, op: Name, layer: Option<Name>, phase: Name, call: u64) -> Current {
        let mut state = self.state();
        state.calls.push(call);
        let around = state.current;
        let phase = if around.phase == Name(0) { phase } else { around.phase };
        state.current = Current { phase, layer: layer.unwrap_or(around.layer), op };
        around
    }

    fn leave(&self, entered: Current) {
        self.state().current = entered;
    }

    fn layer_of(&self, storage: Storage) -> Option<Name> {
        self.state().allocated_in.get(&storage.address()).copied()
    }

    fn phase_of(&self, storage: Storage) -> Option<Name> {
        self.state().phases.get(&storage.address()).copied()
    }

    fn runs_in(&self, phase: DerivedPhase) {
        self.state().ran_in.push(phase);
    }

    fn describe_layer(&self, layer: Name, kind: &str) {
        let mut state = self.state();
        let layer = state.text(layer);
        state.kinds.push((layer, kind.to_owned()));
    }

    fn label(&self, storage: Storage, category: Category, layer: Option<Name>) -> Result<(), LabelError> {
        let mut state = self.state();
        let layer = layer.map(|layer| state.text(layer));
        state.labels.push((storage.address(), category, layer));
        Ok(())
    }

    fn read(&self, storages: &mut dyn Iterator<Item = Storage>) {
        let mut state = self.state();
        let op = state.text(state.current.op);
        state.read.extend(storages.map(|storage| (storage.address(), op.clone())));
    }

    fn expect_storage(&self, category: Option<Category>) {
        self.state().expected.push(category);
    }
}

impl MadeUp {
    fn name(&self, text: &str) -> Name {
        if text.is_empty() {
            return Name(0);
        }
        let mut state = self.state();
        let known = state.names.iter().position(|&known| known == text);
        let index = known.unwrap_or_else(|| {
            state.names.push(text.to_owned().leak());
            state.names.len() - 1
        });
        Name(index as u32 + 1)
    }
}

/// Statics of this test's own: a tracker and an attribution that tells it; and thread 1, for a test that runs operators.
#[macro_export]
macro_rules! attribution {
    ($tracker:ident, $attribution:ident) => {
        static $tracker: $crate::made_up::MadeUp = $crate::made_up::MadeUp::new();
        static SEQUENCES: alloc_torch_core::SequenceTable = alloc_torch_core::SequenceTable::new();
        static $attribution: alloc_torch_core::Attribution<&$crate::made_up::MadeUp> =
            alloc_torch_core::Attribution::new(&$tracker, &SEQUENCES);
    };
    ($tracker:ident, $attribution:ident, $thread:ident) => {
        $crate::attribution!($tracker, $attribution);
        let $thread = $crate::made_up::Thread::new(&$attribution, &$tracker, 1);
    };
}

/// A thread that runs operators.
pub struct Thread {
    pub attribution: &'static Attribution<&'static MadeUp>,
    pub tracker: &'static MadeUp,
    pub stack: OperatorStack<&'static MadeUp>,
    pub number: u64,
}

impl Thread {
    pub fn new(attribution: &'static Attribution<&'static MadeUp>, tracker: &'static MadeUp, number: u64) -> Thread {
        Thread { attribution, tracker, stack: OperatorStack::new(), number }
    }

    /// An answer is always the same: a 1x1 convolution of 8 channels.
    fn starts(&self, operator: &Operator<'_>, scope: Scope) {
        if self.attribution.operator_starts(&self.stack, operator).is_some() {
            self.attribution.layer_is(operator.name, &Answer { weight: &[8, 8, 1, 1], stride: &[1, 1], groups: 1 });
        }
        assert_eq!(self.tracker.scope(), scope, "in {}", String::from_utf8_lossy(operator.name));
    }

    /// A forward operator starts, and the scope in it is this. Numbers below 0 are none.
    pub fn forward(&self, name: &str, sequence: i64, scope: Scope) {
        self.reads(name, sequence, &[], scope);
    }

    /// The same of one that autocast looks at.
    pub fn autocasts(&self, name: &str, sequence: i64, scope: Scope) {
        let (name, thread) = (name.as_bytes(), self.number);
        let operator = Operator {
            is_backward: false,
            autocasts: true,
            name,
            sequence,
            thread,
            variable: None,
            gradient: Gradient::NotTold,
            inputs: &[],
            tensors: &[],
        };
        self.starts(&operator, scope);
    }

    /// A forward operator starts that reads these storages.
    pub fn reads(&self, name: &str, sequence: i64, inputs: &[usize], scope: Scope) {
        let inputs: Vec<Storage> = inputs.iter().copied().filter_map(Storage::at).collect();
        let (name, thread) = (name.as_bytes(), self.number);
        let operator = Operator {
            is_backward: false,
            autocasts: false,
            name,
            sequence,
            thread,
            variable: None,
            gradient: Gradient::NotTold,
            inputs: &inputs,
            tensors: &[],
        };
        self.starts(&operator, scope);
    }

    /// A forward operator runs from start to end that takes these storages, each of the tensor beside it, and the scope in it
    /// is this.
    pub fn takes(&self, name: &str, gradient: Gradient, taken: &[(usize, usize)], scope: Scope) {
        let inputs: Vec<Storage> = taken.iter().filter_map(|(storage, _)| Storage::at(*storage)).collect();
        let tensors: Vec<usize> = taken.iter().map(|(_, tensor)| *tensor).collect();
        let operator = Operator {
            is_backward: false,
            autocasts: false,
            name: name.as_bytes(),
            sequence: -1,
            thread: self.number,
            variable: None,
            gradient,
            inputs: &inputs,
            tensors: &tensors,
        };
        self.starts(&operator, scope);
        self.ends();
    }

    /// An autograd node starts, of the forward operator of this number on thread `of`.
    pub fn node(&self, name: &str, (of, sequence): (u64, i64), scope: Scope) {
        let name = name.as_bytes();
        let operator = Operator {
            is_backward: true,
            autocasts: false,
            name,
            sequence,
            thread: of,
            variable: None,
            gradient: Gradient::NotTold,
            inputs: &[],
            tensors: &[],
        };
        self.starts(&operator, scope);
    }

    /// The `AccumulateGrad` node of a parameter starts.
    pub fn accumulates(&self, parameter: usize, scope: Scope) {
        let operator = Operator {
            is_backward: true,
            autocasts: false,
            name: b"torch::autograd::AccumulateGrad",
            sequence: -1,
            thread: 0,
            variable: Storage::at(parameter),
            gradient: Gradient::NotTold,
            inputs: &[],
            tensors: &[],
        };
        self.starts(&operator, scope);
    }

    /// The innermost operator ends.
    pub fn ends(&self) {
        self.attribution.operator_ends(&self.stack, None);
    }

    /// The innermost operator ends, an `AccumulateGrad` node that leaves this gradient.
    pub fn leaves_gradient(&self, gradient: usize) {
        self.attribution.operator_ends(&self.stack, Storage::at(gradient));
    }
}
