//! What the attribution asks of the tracker, as a trait: tests answer with a made-up tracker, programs with
//! [`TrackerHooks`]. The calls are resolved at compile time and cost no indirection.
use std::ptr;

use alloc_tracker::hooks::{self, Current, Entered, LabelError, Name};
use alloc_tracker::{Category, DerivedPhase, derived_steps};

use crate::event::Storage;

/// The tracker, as far as the attribution needs it. "Active" always means: on the calling thread.
pub trait Hooks {
    /// An entered scope, to be given back to [`leave`](Hooks::leave).
    type Entered: Copy;

    /// The number of `text`, the same for the same text. The empty name is `Name(0)`.
    fn name(&self, text: &str) -> Name;

    /// The text of a name, which stays for the process's life.
    fn text(&self, name: Name) -> &'static str;

    /// The names of the active scope.
    fn current(&self) -> Current;

    /// Enters operator `op`; in `layer` if one is given, else in the active one; in `phase` when no phase is active.
    /// `call` tells the calls of operators apart and is never 0.
    fn enter_op(&self, op: Name, layer: Option<Name>, phase: Name, call: u64) -> Self::Entered;

    /// Leaves an operator.
    fn leave(&self, entered: Self::Entered);

    /// The layer that allocated this storage, `Name(0)` when it was allocated in none; `None` for a storage that is not
    /// tracked.
    fn layer_of(&self, storage: Storage) -> Option<Name>;

    /// The phase in which this storage was allocated, `Name(0)` when that was in none; `None` for a storage that is not tracked.
    fn phase_of(&self, storage: Storage) -> Option<Name>;

    /// An operator of an outermost call starts in a phase that was derived.
    fn runs_in(&self, phase: DerivedPhase);

    /// Says what a layer is, in words; an empty text takes that back.
    fn describe_layer(&self, layer: Name, kind: &str);

    /// Says what a storage is for, for its whole life; one that was allocated in no layer becomes `layer`'s.
    ///
    /// # Errors
    /// When no session records, or the tracker does not know the storage by its address.
    fn label(&self, storage: Storage, category: Category, layer: Option<Name>) -> Result<(), LabelError>;

    /// An operator that read these storages ends. The scope that is active is the operator's.
    fn read(&self, storages: &mut dyn Iterator<Item = Storage>);

    /// Says that the next aligned block that the calling thread allocates is a storage of this category; `None` takes
    /// that back.
    fn expect_storage(&self, category: Option<Category>);
}

/// The tracker of this process: `alloc_tracker::hooks`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrackerHooks;

impl Hooks for TrackerHooks {
    type Entered = Entered;

    fn name(&self, text: &str) -> Name {
        hooks::name(text)
    }

    fn text(&self, name: Name) -> &'static str {
        hooks::text(name)
    }

    fn current(&self) -> Current {
        hooks::current()
    }

    fn enter_op(&self, op: Name, layer: Option<Name>, phase: Name, call: u64) -> Entered {
        hooks::enter_op(op, layer, phase, call)
    }

    fn leave(&self, entered: Entered) {
        hooks::leave(entered);
    }

    fn layer_of(&self, storage: Storage) -> Option<Name> {
        hooks::layer_of(ptr::with_exposed_provenance(storage.address()))
    }

    fn phase_of(&self, storage: Storage) -> Option<Name> {
        hooks::phase_of(ptr::with_exposed_provenance(storage.address()))
    }

    fn runs_in(&self, phase: DerivedPhase) {
        derived_steps::operator_starts(phase);
    }

    fn describe_layer(&self, layer: Name, kind: &str) {
        hooks::describe_layer(layer, kind);
    }

    fn label(&self, storage: Storage, category: Category, layer: Option<Name>) -> Result<(), LabelError> {
        hooks::label(ptr::with_exposed_provenance_mut(storage.address()), category, layer)
    }

    fn read(&self, storages: &mut dyn Iterator<Item = Storage>) {
        hooks::read(storages.map(|storage| ptr::with_exposed_provenance(storage.address())));
    }

    fn expect_storage(&self, category: Option<Category>) {
        hooks::expect_storage(category);
    }
}
