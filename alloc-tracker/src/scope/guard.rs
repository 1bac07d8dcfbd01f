//! Guards: entering a scope, and leaving it on drop.
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::door::backend;
use crate::event::{Event, Kind};
use crate::ledger::slot::{self, Slot};
use crate::ledger::{pool, publish};
use crate::tag::scope::{self, NameId, Parts, ScopeId, TRACKER};

static TOO_DEEP: AtomicU64 = AtomicU64::new(0);

/// How many scopes were not entered because the stack was full; their bytes belong to the scope around them.
pub(crate) fn too_deep() -> u64 {
    TOO_DEEP.load(Ordering::Relaxed)
}

/// An entered scope, left when the guard is dropped. Guards that were leaked inside are left with it; a guard that is
/// dropped after one outside of it is left already. A guard belongs to its thread:
///
/// ```compile_fail
/// let guard = alloc_tracker::phase!("forward");
/// std::thread::spawn(move || drop(guard));
/// ```
#[must_use = "the scope is left when the guard is dropped: bind it, `let _phase = phase!(..)`"]
#[derive(Debug)]
pub struct ScopeGuard {
    entered: Option<(usize, u32)>,
    /// The phase that it entered; 0 when it entered none.
    phase: NameId,
    not_send: PhantomData<*const ()>,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        if let (Some(entered), Some(slot)) = (self.entered, pool::acquire()) {
            slot.leave(entered);
            if self.phase != 0 && publish::recording() && scope::parts(slot.scope()).phase != self.phase {
                let event = Event { kind: Kind::Left, a: self.phase.into(), ..Event::default() };
                let _ = publish::emit(Some(slot), event);
            }
        }
    }
}

/// Enters `scope` on this thread.
pub(crate) fn enter(scope: ScopeId) -> ScopeGuard {
    let entered = pool::acquire().and_then(|slot| slot.enter(scope));
    if entered.is_none() {
        TOO_DEEP.fetch_add(1, Ordering::Relaxed);
    }
    ScopeGuard { entered, phase: 0, not_send: PhantomData }
}

/// Runs `work` with the tracker itself as the owner of what it allocates.
pub(crate) fn as_tracker<T>(slot: &Slot, work: impl FnOnce() -> T) -> T {
    let scope = slot.scope();
    slot.select(TRACKER);
    let result = work();
    slot.select(scope);
    result
}

/// The scope that `change` makes of the active one.
pub(crate) fn derive(change: impl FnOnce(Parts) -> Parts) -> Option<ScopeId> {
    let slot = pool::acquire()?;
    let parts = scope::parts(slot.scope());
    Some(as_tracker(slot, || scope::scope(change(parts))))
}

fn enter_derived(change: impl FnOnce(Parts) -> Parts) -> ScopeGuard {
    slot::main_begins();
    derive(change).map_or(ScopeGuard { entered: None, phase: 0, not_send: PhantomData }, enter)
}

/// Enters the phase `name`, which replaces the phase around it; the layer stays. See [`phase!`](crate::phase!).
pub fn phase(name: &str) -> ScopeGuard {
    let mut number = 0;
    let mut guard = enter_derived(|parts| {
        number = scope::name(name);
        Parts { phase: number, ..parts }
    });
    guard.phase = number;
    guard
}

/// Enters the layer `path`, within the layer around it if there is one: `layer1` and then `0.conv1` make
/// `layer1.0.conv1`. See [`layer!`](crate::layer!).
pub fn layer(path: &str) -> ScopeGuard {
    enter_derived(|parts| {
        let layer = match parts.layer {
            0 => scope::name(path),
            outer => scope::name(&format!("{}.{path}", scope::text(outer))),
        };
        Parts { layer, ..parts }
    })
}

/// Enters a phase until the guard is dropped: `let _phase = phase!("forward");`.
#[macro_export]
macro_rules! phase {
    ($name:expr) => {
        $crate::phase($name)
    };
}

/// Enters a layer until the guard is dropped: `let _layer = layer!("layer1.0.conv1");`.
#[macro_export]
macro_rules! layer {
    ($path:expr) => {
        $crate::layer($path)
    };
}

/// In the executable's list of things to do before `main`, after the shared libraries have done theirs.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    slot::main_begins();
    crate::session::watch_forks();
    // What it needs for its answer it makes on the first question, for which there may be no memory later.
    let _ = backend::owns(std::ptr::null());
    if let Some(slot) = pool::acquire()
        && slot.scope() == scope::RUNTIME
    {
        slot.select(scope::NOBODY);
    }
}
