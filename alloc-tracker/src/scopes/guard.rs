//! Guards: each enters a scope when it is made, and leaves that scope when it is dropped.
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_replay::{Event, NameId, OTHER_SCOPES, Parts, ScopeId};

use crate::ledger::{self, Entered, publish};
use crate::scope::{self, Change};

/// How many times the scopes were nested too deep.
static TOO_DEEP: AtomicU64 = AtomicU64::new(0);

/// How many scopes were not entered because scopes were nested too deep already. What was allocated there belongs to
/// the scope around.
pub fn too_deep() -> u64 {
    TOO_DEEP.load(Ordering::Relaxed)
}

/// An entered scope. The scope is left when the guard is dropped, also while a panic unwinds.
///
/// ```
/// let outer = alloc_tracker::layer("encoder");
/// {
///     let _inner = alloc_tracker::layer("attention");
///     // what this thread allocates here belongs to the layer "encoder.attention"
/// }
/// // ... and here to the layer "encoder"
/// drop(outer);
/// ```
///
/// Leaving a scope leaves all scopes that were entered inside of it, even if their guards were leaked or are dropped
/// later. A guard belongs to its thread and cannot be sent to another one:
///
/// ```compile_fail
/// let guard = alloc_tracker::phase!("forward");
/// std::thread::spawn(move || drop(guard));
/// ```
#[must_use = "the scope is left when the guard is dropped: bind it, `let _phase = phase!(..)`"]
#[derive(Debug)]
pub struct ScopeGuard {
    /// What the slot needs to leave the scope; `None` when no scope was entered.
    entered: Option<Entered>,
    /// The phase that the guard entered; 0 when it entered none.
    phase: NameId,
    not_send: PhantomData<*const ()>,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        leave(self.entered, self.phase);
    }
}

/// Leaves a scope. `phase` is the phase that was entered with it; 0 when none was. Returns whether the scope was still entered.
pub fn leave(entered: Option<Entered>, phase: NameId) -> bool {
    let (Some(entered), Some(slot)) = (entered, ledger::acquire()) else { return false };
    let was_entered = slot.leave(entered);
    if phase != 0 && publish::recording() && scope::parts(slot.scope()).phase != phase {
        let _ = ledger::emit(Some(slot), &Event::PhaseLeft { phase });
    }
    was_entered
}

/// Enters `scope` on this thread, until the guard is dropped.
pub fn enter(scope: ScopeId) -> ScopeGuard {
    ScopeGuard { entered: enter_counted(scope), phase: 0, not_send: PhantomData }
}

/// Enters `scope` on this thread. `None` when it cannot be entered, which is counted.
fn enter_counted(scope: ScopeId) -> Option<Entered> {
    let entered = ledger::acquire().and_then(|slot| slot.enter(scope));
    if entered.is_none() {
        TOO_DEEP.fetch_add(1, Ordering::Relaxed);
    }
    entered
}

/// The scope whose names `change` makes of those of the active scope. `None` when the thread has no slot.
pub fn derive(change: impl FnOnce(Parts) -> Parts) -> Option<ScopeId> {
    let parts = change(scope::parts(ledger::acquire()?.scope()));
    Some(scope::known_scope(parts).unwrap_or_else(|| ledger::as_tracker(|| scope::scope(parts))))
}

/// The scope that the active one becomes when `name` is entered. `None` when the thread has no slot.
pub(super) fn changed(change: Change, name: &str) -> Option<ScopeId> {
    ledger::main_begins();
    Some(changed_from(ledger::acquire()?.scope(), change, name))
}

/// The scope that `from` becomes when `name` is entered there.
pub(super) fn changed_from(from: ScopeId, change: Change, name: &str) -> ScopeId {
    let known = scope::known_change(from, change, name);
    known.unwrap_or_else(|| ledger::as_tracker(|| scope::learn_change(from, change, name)))
}

/// The phase of that scope, which entering `name` led to. A scope that found no room in the table has another phase.
fn phase_of(scope: ScopeId, name: &str) -> NameId {
    match scope {
        OTHER_SCOPES => ledger::as_tracker(|| scope::name(name)),
        scope => scope::parts(scope).phase,
    }
}

/// Enters a scope that entering the phase `name` led to; `None`: none was entered.
pub(super) fn guard_of_phase(scope: Option<ScopeId>, name: &str) -> ScopeGuard {
    let phase = scope.map_or(0, |scope| phase_of(scope, name));
    ScopeGuard { entered: scope.and_then(enter_counted), phase, not_send: PhantomData }
}

/// Enters a scope that entering a layer led to; `None`: none was entered.
pub(super) fn guard_of(scope: Option<ScopeId>) -> ScopeGuard {
    ScopeGuard { entered: scope.and_then(enter_counted), phase: 0, not_send: PhantomData }
}

/// Enters the phase `name` on this thread; returns its number as well.
pub fn enter_phase(name: &str) -> (Option<Entered>, NameId) {
    let scope = changed(Change::Phase, name);
    (scope.and_then(enter_counted), scope.map_or(0, |scope| phase_of(scope, name)))
}

/// Enters the layer `path` on this thread, whatever the active one is.
pub fn enter_layer_alone(path: &str) -> Option<Entered> {
    changed(Change::LayerAlone, path).and_then(enter_counted)
}

/// Enters the layer of this number on this thread, whatever the active one is.
pub fn enter_numbered_layer(layer: NameId) -> Option<Entered> {
    ledger::main_begins();
    derive(|parts| Parts { layer, ..parts }).and_then(enter_counted)
}

/// Enters the layer `path`, below the active one, on this thread.
pub fn enter_layer(path: &str) -> Option<Entered> {
    changed(Change::Layer, path).and_then(enter_counted)
}

/// Enters the phase `name` on this thread, until the guard is dropped. The phase replaces the one around it; the layer
/// stays. See also the macro [`phase!`](crate::phase!).
///
/// At a depth of more than 256 scopes nothing is entered, and the timeline counts that.
///
/// ```
/// let _phase = alloc_tracker::phase("forward");
/// // what this thread allocates here belongs to the phase "forward"
/// ```
pub fn phase(name: &str) -> ScopeGuard {
    guard_of_phase(changed(Change::Phase, name), name)
}

/// Enters the layer `path` on this thread, until the guard is dropped. Within another layer, `path` is appended to that
/// layer's path. See also the macro [`layer!`](crate::layer!).
///
/// At a depth of more than 256 scopes nothing is entered, and the timeline counts that.
///
/// ```
/// let _block = alloc_tracker::layer("layer1");
/// let _conv = alloc_tracker::layer("0.conv1");
/// // what this thread allocates here belongs to the layer "layer1.0.conv1"
/// ```
pub fn layer(path: &str) -> ScopeGuard {
    guard_of(changed(Change::Layer, path))
}
