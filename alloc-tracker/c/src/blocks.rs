//! What a block is for.
use std::ffi::{c_char, c_void};

use alloc_tracker::hooks;

use crate::text;

/// What a block is for.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// A trainable variable of the model.
    Parameter,
    /// A tensor of the model that is not trained.
    Buffer,
    /// The gradient of a parameter.
    Gradient,
    /// A tensor that outlives the operator that made it.
    Activation,
    /// What the optimizer keeps between steps.
    OptimizerState,
    /// A batch of data.
    Input,
    /// What an operator needs while it runs.
    Workspace,
}

/// Each with the tracker's.
const CATEGORIES: [(Category, alloc_tracker::Category); 7] = [
    (Category::Parameter, alloc_tracker::Category::Parameter),
    (Category::Buffer, alloc_tracker::Category::Buffer),
    (Category::Gradient, alloc_tracker::Category::Gradient),
    (Category::Activation, alloc_tracker::Category::Activation),
    (Category::OptimizerState, alloc_tracker::Category::OptimizerState),
    (Category::Input, alloc_tracker::Category::Input),
    (Category::Workspace, alloc_tracker::Category::Workspace),
];

/// How the names of the layers of Python's imports begin.
pub const IMPORT: &str = "import ";

/// `category` is a [`Category`], or any other number that C passes.
///
/// # Safety
/// `layer` is null or a C string.
pub unsafe extern "C" fn label(block: *mut c_void, category: u32, layer: *const c_char) -> bool {
    let Some((_, category)) = CATEGORIES.into_iter().find(|(number, _)| *number as u32 == category) else {
        return false;
    };
    // SAFETY: as the caller promises.
    let layer = (!layer.is_null()).then(|| hooks::name(&unsafe { text::read(layer) }));
    // A program may build its network in a module that it imports.
    let is_imports = |allocated_in| hooks::text(allocated_in).starts_with(IMPORT);
    hooks::label_of_layer(block.cast(), category, layer.unwrap_or_default(), is_imports).is_ok()
}
