//! Decides what libtorch's events mean to `alloc-tracker`: which operator, layer and phase own what is allocated, and what
//! each tensor storage is for.
//!
//! Nothing here needs libtorch, C++ or tch. A *face* (the crate `alloc-torch` for programs that use tch) receives
//! libtorch's callbacks, turns them into plain data, and hands them to an [`Attribution`]. What that decides goes to the
//! tracker through the [`Hooks`].
//!
//! ```text
//! face: operator starts, ends ----> event ----> stack       the operators that run on this thread
//!                                     |         sequence    layer by number of the autograd node
//!                                     |         derive      the phase of an operator that the program gave none
//!                                     |         compiled    regions that torch.compile made
//!                                     |         kind        what a layer is, in words
//!                                     |         reads       which storages it reads, told when it ends
//! face: parameters by path -----------+-------> parameters  layer by parameter and by input
//! face: a storage is allocated -------+-------> category    what a storage is for
//! face: a device's block --> devices ---------------> alloc_tracker::devices
//!                                               attribution all of it together
//!                                                  |
//!                                                hooks ----> alloc_tracker::hooks
//! ```
//!
//! A face has one `Attribution` for the process and one [`OperatorStack`] for each thread:
//!
//! ```
//! use alloc_torch_core::{Attribution, Gradient, Operator, OperatorStack, SequenceTable, TrackerHooks};
//!
//! static SEQUENCES: SequenceTable = SequenceTable::new();
//! static ATTRIBUTION: Attribution<TrackerHooks> = Attribution::new(TrackerHooks, &SEQUENCES);
//! thread_local! {
//!     static OPERATORS: OperatorStack<TrackerHooks> = const { OperatorStack::new() };
//! }
//!
//! let conv2d = Operator {
//!     is_backward: false,
//!     autocasts: false,
//!     name: b"aten::conv2d",
//!     sequence: 0,
//!     thread: 1,
//!     variable: None,
//!     gradient: Gradient::None,
//!     inputs: &[],
//!     tensors: &[],
//! };
//! OPERATORS.with(|operators| {
//!     ATTRIBUTION.operator_starts(operators, &conv2d);
//!     assert_eq!(alloc_tracker::hooks::current().op, alloc_tracker::hooks::name("aten::conv2d"));
//!     ATTRIBUTION.operator_ends(operators, None);
//! });
//! ```
#![forbid(unsafe_code)]

// From the ground up: a module uses those above it in this list.
mod devices;
mod event;
mod operator_name;
mod sequence;

mod hooks;

mod category;
mod compiled;
mod kind;
mod parameters;
mod pending;
mod reads;
mod recent_names;

mod derive;
mod stack;

mod attribution;

pub use attribution::{Attribution, is_engine};
pub use compiled::{is_compiled_layer, is_region as is_compiled_region};
pub use devices::{DeviceNumbers, DeviceTable, device_block};
pub use event::{Gradient, Operator, Storage};
pub use hooks::{Hooks, TrackerHooks};
pub use kind::{Answer, Question};
pub use sequence::SequenceTable;
pub use stack::OperatorStack;
