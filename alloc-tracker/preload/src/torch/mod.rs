//! What the libtorch of a Python program is doing: its operators, the layers that backward operators work for, and what each
//! tensor storage is for. The decisions are those of `alloc-torch-core`; here is how its facts come out of a libtorch that
//! this library neither links nor was compiled against.
//!
//! ```text
//! Python: _torch/operators.py, right after `import torch`
//!   |  runs operators of which it knows all, a few rounds
//!   v
//! api.rs ---- trial.rs: what libtorch calls meanwhile, and what the records then hold
//!                |
//!             layout.rs: where in a record the numbers stand; or that this is not known
//!                v
//! libtorch: at::RecordFunction --> operators.rs --> core: operators, layers, phases
//!           c10::alloc_cpu ------> storages.rs ---> core: what each storage is for
//!           a device's allocator > devices.rs ----> core: the blocks of devices
//!           post_acc_grad_hooks -> gradients.rs --> which storages are gradients
//!             ^ before it tells, it asks
//!           asked.rs ------------> nested.rs: whether an operator need be told
//!                                  engine.rs: whether this is the autograd engine's event, which needs no name
//! ```
//!
//! `own.rs` finds the functions of libtorch's that `storages.rs`, `devices.rs`, `gradients.rs` and `asked.rs` stand before. `field.rs` is how
//! `layout.rs` looks for fields, and `objects.rs` for the way from a tensor to its memory.
//!
//! `running.rs` has what runs on each thread. `builtins.rs` has what Python calls for each module that runs, and `tensors.rs` for each parameter;
//! `layers.rs` what that does. `calls.rs` is around each call of a module, `around.rs` around backward passes and batches.
//!
//! Nothing is believed that the trial has not shown on this very libtorch. Where it shows that operators come with their names
//! and not where the numbers stand, they are told without the layers of backward operators; where it does not show even that,
//! they are not told. On x86-64 only, because the trial cannot show how a processor hands results back.
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "a part serves `asked.rs` alone, which is for x86-64")
)]
mod around;
#[cfg(target_arch = "x86_64")]
mod asked;
mod builtins;
mod calls;
mod devices;
mod engine;
mod field;
mod gradients;
mod layers;
mod layout;
mod libtorch;
mod nested;
mod objects;
mod operators;
mod own;
mod running;
mod storages;
mod tensors;
mod trial;

mod api;
