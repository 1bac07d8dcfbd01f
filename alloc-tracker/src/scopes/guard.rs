//! Guards: each enters a scope when it is made, and leaves that scope when it is dropped.
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_replay::{Event, NameId, Parts, ScopeId};

use crate::ledger::{self, Entered, publish};
use crate::scope;

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

/// Leaves a scope. `phase` is the phase that was entered with it; 0 when none was.
pub fn leave(entered: Option<Entered>, phase: NameId) {
    if let (Some(entered), Some(slot)) = (entered, ledger::acquire()) {
        slot.leave(entered);
        if phase != 0 && publish::recording() && scope::parts(slot.scope()).phase != phase {
            let _ = ledger::emit(Some(slot), &Event::PhaseLeft { phase });
        }
    }
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
    let slot = ledger::acquire()?;
    let parts = scope::parts(slot.scope());
    Some(ledger::as_tracker(|| scope::scope(change(parts))))
}

/// Enters the scope whose names `change` makes of those of the active scope.
fn enter_derived(change: impl FnOnce(Parts) -> Parts) -> Option<Entered> {
    ledger::main_begins();
    derive(change).and_then(enter_counted)
}

/// Enters the phase `name` on this thread; returns its number as well.
pub fn enter_phase(name: &str) -> (Option<Entered>, NameId) {
    let mut phase = 0;
    let entered = enter_derived(|parts| {
        phase = scope::name(name);
        Parts { phase, ..parts }
    });
    (entered, phase)
}

/// Enters the layer `path` on this thread, whatever the active one is.
pub fn enter_layer_alone(path: &str) -> Option<Entered> {
    enter_derived(|parts| Parts { layer: scope::name(path), ..parts })
}

/// Enters the layer `path`, below the active one, on this thread.
pub fn enter_layer(path: &str) -> Option<Entered> {
    enter_derived(|parts| {
        let layer = match parts.layer {
            0 => scope::name(path),
            outer => scope::name(&format!("{}.{path}", scope::text(outer))),
        };
        Parts { layer, ..parts }
    })
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
    let (entered, phase) = enter_phase(name);
    ScopeGuard { entered, phase, not_send: PhantomData }
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
    ScopeGuard { entered: enter_layer(path), phase: 0, not_send: PhantomData }
}

/// Enters a phase on this thread, until the guard is dropped: `let _phase = phase!("forward");`. See
/// [`phase()`](crate::phase()).
///
/// ```
/// use alloc_tracker::phase;
///
/// {
///     let _phase = phase!("data");
///     // what this thread allocates here belongs to the phase "data"
/// }
/// ```
#[macro_export]
macro_rules! phase {
    ($name:expr) => {
        $crate::phase($name)
    };
}

/// Enters a layer on this thread, until the guard is dropped: `let _layer = layer!("layer1.0.conv1");`. See
/// [`layer()`](crate::layer()).
///
/// ```
/// use alloc_tracker::layer;
///
/// {
///     let _layer = layer!("conv1");
///     // what this thread allocates here belongs to the layer "conv1"
/// }
/// ```
#[macro_export]
macro_rules! layer {
    ($path:expr) => {
        $crate::layer($path)
    };
}
