//! Layers by number, as Python enters one for each module that runs: a number costs less to hand over than a text, and less to
//! return than a scope of C's.
use std::ptr;

use alloc_tracker::Category;
use alloc_tracker::hooks::{self, Entered, Name};

use super::operators;

/// The number of a layer.
pub fn number(path: &str) -> u32 {
    hooks::name(path).0
}

/// The number of the layer that is active on this thread.
pub fn active() -> u32 {
    hooks::current().layer.0
}

/// Enters a layer on this thread, whatever layer is active. Returns what [`leave`] needs.
pub fn enter(layer: u32) -> u64 {
    operators::note_nodes();
    let [scope, _] = hooks::enter_numbered_layer(Name(layer)).numbers();
    scope
}

/// Leaves it, and all that was entered in it and not left. The operator around it goes on.
pub fn leave(scope: u64) {
    operators::note_nodes();
    let [_, call] = Entered::nothing().numbers();
    hooks::leave(Entered::of_numbers([scope, call]));
}

/// Labels the storage at an address as a gradient, with the number of its parameter's layer. What a compiled region makes in one piece
/// for many layers becomes that layer's, and so does what another layer's operator made, if `is_alone` says that no other gradient lies there.
pub fn label_gradient(address: u64, layer: u32, is_alone: impl FnOnce() -> bool) {
    let block = ptr::with_exposed_provenance_mut(address as usize);
    let is_layers = |allocated_in: Name| {
        allocated_in != Name(layer) && (alloc_torch_core::is_compiled_layer(hooks::text(allocated_in)) || is_alone())
    };
    // What the tracker does not know, such as memory that another allocator gave, has no label.
    let _ = hooks::label_of_layer(block, Category::Gradient, Name(layer), is_layers);
}
