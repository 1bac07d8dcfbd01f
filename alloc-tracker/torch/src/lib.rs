//! Layers, phases and operators of libtorch for `alloc-tracker`, in programs that use tch.
//!
//! [`install`] comes first. Then either the layers are named in the program (`alloc_tracker::layer!`, or [`layer()`] around
//! a module), or [`name_layers`] names them by the parameters that each operator reads.
//!
//! ```no_run
//! use alloc_tracker::{Session, phase};
//! use tch::nn::{self, Module, OptimizerConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // With `use alloc_interpose as _;` in main.rs, so that libtorch's allocations reach the tracker.
//! alloc_torch::install()?;
//! let session = Session::builder().output("run.timeline.json").start()?;
//! let store = nn::VarStore::new(tch::Device::Cpu);
//! let network = nn::linear(store.root() / "fc1", 784, 10, Default::default());
//! alloc_torch::name_layers(&store);
//! let mut optimizer = nn::Sgd::default().build(&store, 0.1)?;
//!
//! let images = tch::Tensor::rand([64, 784], tch::kind::FLOAT_CPU);
//! let loss = {
//!     let _phase = phase!("forward");
//!     network.forward(&images).square().mean(tch::Kind::Float)
//! };
//! loss.backward(); // the layers of the backward pass are those of the forward operators
//! let _phase = phase!("optimizer");
//! optimizer.step();
//! session.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! Where the program names no phase, operators tell it: `forward (derived)`, `backward (derived)`, `optimizer (derived)` or
//! `infer (derived)`; and where it begins no steps, each optimizer ends one.
//!
//! This crate is the face that tch's programs see; all decisions are those of `alloc-torch-core`:
//!
//! ```text
//! shim/hooks.cpp: at::RecordFunction ----> events.rs -----> core: operator scopes, forward and backward
//!                 c10's CPU allocator ---> events.rs -----> core: what each tensor storage is for
//! shim/devices.cpp: c10's devices -------> devices.rs ---> core: what each block of a device is for
//! VarStore ------------------------------> variables.rs --> core: parameters, buffers, layers by parameter
//! nn::ModuleT ---------------------------> module.rs: layers by name
//! install.rs puts the hooks in, and proves that libtorch's malloc is the tracker's
//! ```

// From the ground up: a module uses those above it in this list.
mod module;
mod shim;

mod events;

mod devices;

mod install;
mod variables;

pub use alloc_tracker::hooks::LabelError;
pub use devices::watch_devices;
pub use install::{InstallError, install, watch_reads};
pub use module::{Layer, layer};
pub use variables::{label, label_variables, name_layers};
