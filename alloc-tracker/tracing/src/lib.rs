//! Spans of the crate `tracing` as phases and layers of [`alloc_tracker`].
//!
//! A program that has spans already needs no `phase!` and no `layer!`: it puts [`scopes`] into its subscriber.
//!
//! ```
//! use tracing_subscriber::prelude::*;
//!
//! #[global_allocator]
//! static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
//!
//! tracing_subscriber::registry().with(alloc_tracing::scopes().phases("my_program::training")).init();
//!
//! let _encoder = tracing::info_span!("encoder").entered();
//! // what this thread allocates here belongs to the layer "encoder"
//! ```
//!
//! A span is a layer, below the layer of the span around it, unless something else is said, by:
//!
//! 1. its field `memory`: `info_span!("forward", memory = "phase")`; also `"layer"`, or `"none"` for a span that is no scope;
//! 2. its target, which is the module that it stands in: [`Scopes::phases`], [`Scopes::layers`], [`Scopes::ignored`];
//! 3. [`Scopes::only_listed`]: all other spans are no scopes.
//!
//! # Futures
//!
//! A future that carries a span (`future.instrument(span)`, `#[instrument]`) is in the span's scope whenever it is polled, on
//! whichever thread of the runtime: what it allocates belongs to its task. A span's scope is settled where the span is made: its
//! parent's or, without a parent, the one that is active there.
//!
//! # Cost
//!
//! Entering and leaving a span takes 72 ns, of which the registry alone takes 8; making, entering and leaving one takes 252, of which
//! the registry takes 135 (medians of 15 rounds on a quiet machine with two cores; `cargo run --release -p alloc-tracing --example
//! span_cost`). A span that a filter leaves out is no scope and costs nothing here. In hot loops, use `layer!`.
#![forbid(unsafe_code)]

mod rules;

mod active;

mod scopes;

pub use self::scopes::{Scopes, scopes};
