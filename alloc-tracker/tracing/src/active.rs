//! The spans that are entered on this thread, and the guards of their scopes.
use std::cell::RefCell;

use alloc_tracker::{Captured, ScopeGuard, phase};
use tracing_core::span::Id;

/// The scope of a span.
#[derive(Clone, Debug)]
pub struct SpanScope {
    /// The one around it.
    pub around: Captured,
    /// Its name, of a span that is a phase.
    pub phase: Option<&'static str>,
    /// What is active inside of it.
    pub within: Captured,
    /// The number of the part of the subscriber that made it.
    pub made_by: u64,
}

impl SpanScope {
    /// A phase is entered by its name, so that its end is known as the end of a phase.
    fn enter(&self) -> Guards {
        match self.phase {
            Some(name) => {
                let around = self.around.attach();
                Guards { _inner: phase(name), _outer: Some(around) }
            }
            None => Guards { _inner: self.within.attach(), _outer: None },
        }
    }
}

/// The guards of one entered span. Fields are dropped in this order.
struct Guards {
    _inner: ScopeGuard,
    _outer: Option<ScopeGuard>,
}

struct Entered {
    span: Id,
    scope: SpanScope,
    guards: Guards,
}

thread_local! {
    static ACTIVE: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

/// Enters the scope of `span` on this thread.
pub fn enter(span: &Id, scope: SpanScope) {
    // A thread that ends has no scopes any more.
    let _ = ACTIVE.try_with(|active| {
        let guards = scope.enter();
        active.borrow_mut().push(Entered { span: span.clone(), scope, guards });
    });
}

/// Leaves the scope of `span` on this thread, where it was entered last. Spans that were entered after it and are still entered
/// keep their scopes: `tracing` lets spans be left in any order.
pub fn leave(span: &Id) {
    let _ = ACTIVE.try_with(|active| {
        let mut active = active.borrow_mut();
        let Some(place) = active.iter().rposition(|entered| entered.span == *span) else { return };
        let later = active.split_off(place + 1);
        let leave = |Entered { span, scope, guards }: Entered| {
            drop(guards);
            (span, scope)
        };
        let later: Vec<(Id, SpanScope)> = later.into_iter().rev().map(leave).collect();
        drop(active.pop());
        for (span, scope) in later.into_iter().rev() {
            let guards = scope.enter();
            active.push(Entered { span, scope, guards });
        }
    });
}
