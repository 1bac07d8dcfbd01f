//! Layers, phases and operators of libtorch for `alloc-tracker`.
//!
//! ```text
//! shim/hooks.cpp: at::RecordFunction ----> ops.rs: operator scopes, forward and backward
//!                 c10's CPU allocator ---> ops.rs: which blocks are tensor storages
//! VarStore ------------------------------> variables.rs: parameters, buffers, layers by parameter
//! nn::ModuleT ---------------------------> module.rs: layers by name
//! install.rs puts the hooks in, and proves that libtorch's malloc is the tracker's
//! ```
//!
//! [`install`] comes first. Then either the layers are named in the program (`alloc_tracker::layer!`, or [`layer`] around
//! a module), or [`name_layers`] names them by the parameters that each operator reads.
mod install;
mod module;
mod ops;
mod sequence;
mod variables;

pub use install::{InstallError, install};
pub use module::{Layer, layer};
pub use variables::{label, label_variables, name_layers};
