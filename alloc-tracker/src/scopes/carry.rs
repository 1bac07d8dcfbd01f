//! Carrying a scope to other threads (those of a pool, for example) and into futures.
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use alloc_replay::{NOBODY, ScopeId};

use super::guard::{ScopeGuard, changed_from, enter};
use crate::scope::Change;
use crate::{ledger, scope};

/// A scope that was active when [`capture`] was called, and that can be entered on any thread.
///
/// ```
/// use alloc_tracker::{Captured, capture, layer};
///
/// let scope: Captured = {
///     let _layer = layer!("conv1");
///     capture()
/// };
/// assert_ne!(capture(), scope, "the layer has been left");
///
/// let _attached = scope.attach();
/// assert_eq!(capture(), scope);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured(ScopeId);

/// The scope that is active on this thread, to be entered on another thread.
///
/// ```
/// let _phase = alloc_tracker::phase!("data");
/// let scope = alloc_tracker::capture();
/// std::thread::spawn(move || {
///     let _attached = scope.attach();
///     // what this thread allocates here belongs to the phase "data"
/// })
/// .join()
/// .unwrap();
/// ```
pub fn capture() -> Captured {
    Captured(ledger::acquire().map_or(NOBODY, ledger::Slot::scope))
}

impl Captured {
    /// Enters the captured scope on this thread, until the guard is dropped. It replaces the phase, the layer and the
    /// operator that are active here.
    ///
    /// ```
    /// let scope = alloc_tracker::capture();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| {
    ///         let _attached = scope.attach();
    ///         // what this thread allocates here belongs to the captured scope
    ///     });
    /// });
    /// ```
    pub fn attach(self) -> ScopeGuard {
        enter(self.own())
    }

    /// The scope that would be active if the phase `name` were entered in this one. Nothing is entered.
    ///
    /// ```
    /// use alloc_tracker::{capture, hooks};
    ///
    /// let _attached = capture().within_phase("data").attach();
    /// assert_eq!(hooks::current().phase, hooks::name("data"));
    /// ```
    #[must_use]
    pub fn within_phase(self, name: &str) -> Captured {
        self.within(Change::Phase, name)
    }

    /// The scope that would be active if the layer `path` were entered in this one. Nothing is entered.
    ///
    /// ```
    /// use alloc_tracker::{capture, hooks, layer};
    ///
    /// let scope = {
    ///     let _layer = layer!("encoder");
    ///     capture().within_layer("attention")
    /// };
    /// let _attached = scope.attach();
    /// assert_eq!(hooks::current().layer, hooks::name("encoder.attention"));
    /// ```
    #[must_use]
    pub fn within_layer(self, path: &str) -> Captured {
        self.within(Change::Layer, path)
    }

    fn within(self, change: Change, name: &str) -> Captured {
        let has_scopes = ledger::acquire().is_some();
        if has_scopes { Captured(changed_from(self.own(), change, name)) } else { self }
    }

    /// The scope's number in this process: it may have been captured before a fork, from which on it has another one.
    fn own(self) -> ScopeId {
        if scope::is_inherited(self.0) { ledger::as_tracker(|| scope::own(self.0)) } else { self.0 }
    }

    /// Wraps a future, so that it runs in the captured scope whenever it is polled, on whichever thread. (A guard is no
    /// substitute: held across an `.await`, it would keep its scope active on the thread from which the task has moved
    /// away.)
    ///
    /// ```
    /// use std::future::Future;
    /// use std::task::{Context, Poll, Waker};
    ///
    /// use alloc_tracker::{capture, hooks, phase};
    ///
    /// let scope = {
    ///     let _phase = phase!("data");
    ///     capture()
    /// };
    /// let mut task = Box::pin(scope.instrument(async { hooks::current().phase }));
    /// let polled = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    /// assert_eq!(polled, Poll::Ready(hooks::name("data")));
    /// ```
    pub fn instrument<F: Future>(self, future: F) -> Instrumented<F> {
        Instrumented { scope: self, future: Box::pin(future) }
    }
}

/// A future that runs in a captured scope, made by [`Captured::instrument`].
///
/// ```
/// fn in_active_scope<F: Future>(work: F) -> alloc_tracker::Instrumented<F> {
///     alloc_tracker::capture().instrument(work)
/// }
/// # drop(in_active_scope(async {}));
/// ```
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
