//! A place in the source that enters a phase or a layer of one name: it remembers the scope that it came from last, and the one
//! that it led to, so that it mostly need not look for it.
use std::sync::atomic::{AtomicU32, Ordering};

use alloc_replay::{OTHER_SCOPES, ScopeId};

use super::guard::{self, ScopeGuard};
use crate::ledger;
use crate::scope::Change;

/// What a place holds that nobody came by. No scope has the number in its upper half, because the numbers of scopes have 15 bits.
const NOTHING: u32 = u32::MAX;

/// The memory of one `layer!("name")` or `phase!("name")` in the source; the macros make it.
#[derive(Debug)]
pub struct Site {
    /// The scope that an entry came from, in the upper half, and the one that it led to; or [`NOTHING`].
    last: AtomicU32,
}

impl Site {
    /// A place that nobody came by.
    #[allow(clippy::new_without_default, reason = "it is for statics, which a default cannot make")]
    pub const fn new() -> Self {
        Site { last: AtomicU32::new(NOTHING) }
    }

    /// Enters the phase `name`, always the same at one place.
    pub fn phase(&self, name: &str) -> ScopeGuard {
        let to = self.scope(Change::Phase, name);
        guard::guard_of_phase(to, name)
    }

    /// Enters the layer `path`, always the same at one place.
    pub fn layer(&self, path: &str) -> ScopeGuard {
        guard::guard_of(self.scope(Change::Layer, path))
    }

    fn scope(&self, change: Change, name: &str) -> Option<ScopeId> {
        let from = ledger::acquire()?.scope();
        let last = self.last.load(Ordering::Relaxed);
        if last >> 16 == u32::from(from) {
            return Some(last as ScopeId);
        }
        let to = guard::changed(change, name)?;
        if to != OTHER_SCOPES {
            self.last.store(u32::from(from) << 16 | u32::from(to), Ordering::Relaxed);
        }
        Some(to)
    }
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
    ($name:literal) => {{
        static SITE: $crate::Site = $crate::Site::new();
        SITE.phase($name)
    }};
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
    ($path:literal) => {{
        static SITE: $crate::Site = $crate::Site::new();
        SITE.layer($path)
    }};
    ($path:expr) => {
        $crate::layer($path)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::{current, name};

    /// One place, entered from two scopes in turn, leads to the scope that belongs to each.
    #[test]
    fn a_place_that_is_reached_from_several_scopes() {
        let site = Site::new();
        for _ in 0..2 {
            for outer in ["site.a", "site.b"] {
                let _outer = guard::layer(outer);
                for _ in 0..2 {
                    let _inner = site.layer("inner");
                    assert_eq!(current().layer, name(&format!("{outer}.inner")));
                }
                assert_eq!(current().layer, name(outer));
            }
        }
        let phase = Site::new();
        {
            let _phase = phase.phase("site.phase");
            assert_eq!(current().phase, name("site.phase"));
        }
        assert_eq!(current(), crate::hooks::Current::default());
    }
}
