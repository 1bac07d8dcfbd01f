//! The part of a subscriber that makes spans scopes.
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_tracker::{Captured, capture};
use tracing_core::Subscriber;
use tracing_core::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::active::{self, SpanScope};
use super::rules::{Kind, Rules};

/// Makes spans phases and layers. To be put into a subscriber; see the [crate's description](crate).
#[derive(Debug)]
pub struct Scopes {
    rules: Rules,
    /// Tells this part of a subscriber from others of its kind.
    number: u64,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Makes every span a layer, unless the span or the calls behind this one say otherwise.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// let subscriber = tracing_subscriber::registry().with(alloc_tracing::scopes());
/// tracing::subscriber::with_default(subscriber, || {
///     let _forward = tracing::info_span!("forward", memory = "phase").entered();
///     let _conv = tracing::info_span!("conv1").entered();
///     let active = alloc_tracker::hooks::current();
///     assert_eq!(active.phase, alloc_tracker::hooks::name("forward"));
///     assert_eq!(active.layer, alloc_tracker::hooks::name("conv1"));
/// });
/// ```
pub fn scopes() -> Scopes {
    Scopes { rules: Rules::new(), number: NEXT.fetch_add(1, Ordering::Relaxed) }
}

impl Scopes {
    /// Spans of the module `target`, and of the modules in it, are phases.
    ///
    /// ```
    /// let _ = alloc_tracing::scopes().phases("my_program::training");
    /// ```
    #[must_use]
    pub fn phases(self, target: &str) -> Scopes {
        self.with(target, Kind::Phase)
    }

    /// Spans of the module `target`, and of the modules in it, are layers.
    ///
    /// ```
    /// let _ = alloc_tracing::scopes().ignored("my_program").layers("my_program::model");
    /// ```
    #[must_use]
    pub fn layers(self, target: &str) -> Scopes {
        self.with(target, Kind::Layer)
    }

    /// Spans of the module `target`, and of the modules in it, are no scopes.
    ///
    /// ```
    /// let _ = alloc_tracing::scopes().ignored("hyper");
    /// ```
    #[must_use]
    pub fn ignored(self, target: &str) -> Scopes {
        self.with(target, Kind::Nothing)
    }

    /// Spans of which neither their field nor their target says anything are no scopes.
    ///
    /// ```
    /// let _ = alloc_tracing::scopes().layers("my_program::model").only_listed();
    /// ```
    #[must_use]
    pub fn only_listed(mut self) -> Scopes {
        self.rules.others = Kind::Nothing;
        self
    }

    fn with(mut self, target: &str, kind: Kind) -> Scopes {
        self.rules.add(target, kind);
        self
    }

    /// The scope that this part of the subscriber has made of a span.
    fn scope_of<S: Subscriber + for<'a> LookupSpan<'a>>(&self, id: &Id, context: &Context<'_, S>) -> Option<SpanScope> {
        let scope = context.span(id).and_then(|span| span.extensions().get::<SpanScope>().cloned());
        scope.filter(|scope| scope.made_by == self.number)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Scopes {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let (kind, Some(span)) = (self.rules.kind(attributes), context.span(id)) else { return };
        let name = span.metadata().name();
        let around = around(&span);
        let within = match kind {
            Kind::Phase => around.within_phase(name),
            Kind::Layer => around.within_layer(name),
            Kind::Nothing => return,
        };
        let phase = (kind == Kind::Phase).then_some(name);
        let mut extensions = span.extensions_mut();
        // A subscriber may have several such parts, with rules of their own. The first that makes a scope of the span decides.
        if extensions.get_mut::<SpanScope>().is_none() {
            extensions.insert(SpanScope { around, phase, within, made_by: self.number });
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(scope) = self.scope_of(id, &context) {
            active::enter(id, scope);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if self.scope_of(id, &context).is_some() {
            active::leave(id);
        }
    }
}

/// The scope of the nearest span around `span` that has one; without any, the scope that is active here.
fn around<'a, S: LookupSpan<'a>>(span: &SpanRef<'a, S>) -> Captured {
    let parents = span.scope().skip(1);
    parents
        .filter_map(|parent| parent.extensions().get::<SpanScope>().map(|scope| scope.within))
        .next()
        .unwrap_or_else(capture)
}
