//! Scopes that travel: to the threads of a pool, and along with a future from poll to poll.
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::guard::{ScopeGuard, enter};
use crate::ledger::pool;
use crate::tag::scope::{NOBODY, ScopeId};

/// A scope to be entered elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured(ScopeId);

/// The active scope, to be attached on another thread.
///
/// ```
/// let _phase = alloc_tracker::phase!("data");
/// let scope = alloc_tracker::capture();
/// std::thread::spawn(move || {
///     let _attached = scope.attach();
///     // what is allocated here belongs to the phase "data"
/// })
/// .join()
/// .unwrap();
/// ```
pub fn capture() -> Captured {
    Captured(pool::acquire().map_or(NOBODY, |slot| slot.scope()))
}

impl Captured {
    /// Enters the captured scope on this thread.
    pub fn attach(self) -> ScopeGuard {
        enter(self.0)
    }

    /// A future that runs in the captured scope whenever it is polled, on whatever thread. A guard held across an
    /// `.await` would leave its scope on the thread that the task left.
    pub fn instrument<F: Future>(self, future: F) -> Instrumented<F> {
        Instrumented { scope: self, future: Box::pin(future) }
    }
}

/// See [`Captured::instrument`].
#[derive(Debug)]
pub struct Instrumented<F> {
    scope: Captured,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Instrumented<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _scope = self.scope.attach();
        self.future.as_mut().poll(context)
    }
}
