//! Samples: now and then one block with the calls that led to its allocation.
//!
//! ```text
//! door -> samples.rs: is it due (sampler.rs)? -> unwind.rs (its calls) -> table.rs (stacks by number)
//!                 |                                ^      ^ rules.rs (how to get from a call to its caller, once that is known)
//!                 |                                |      ^ interpreter.rs (interpreted calls), functions.rs (what those are called)
//!                 |                                | code_map.rs (what code is where, and its unwind tables; modules.rs renews it, mapped.rs reads the mappings)
//!                 \-> addresses.rs (sampled blocks that live) -> event ring
//! ```
//!
//! `ALLOC_TRACKER_STACKS=512KiB` (or `512KiB,7`, with a seed) in the environment switches this on for the process's
//! whole life. The hot path needs no check for sampling. Where samples are rare, the word that it counts in is full with the block of the
//! next sample (`ledger/slot.rs`), and a sampled block gets a tag that the hot path leaves alone (`door/room.rs`). Where they are
//! frequent, no lane is ever opened, and every block takes the cold path. Samples are taken only while a session records.
//!
//! Files are read by the recorder alone (`elf.rs`; `loaded.rs` for those that were deleted).
//!
//! During an allocation or a free, nothing here allocates, waits, or calls the dynamic loader. A sample whose calls
//! cannot be found stands for as many bytes as any other; it has no stack.
//!
//! Without the crate's feature `stacks`, nothing is sampled (`absent.rs`).
#[cfg(not(feature = "stacks"))]
mod absent;
#[cfg(feature = "stacks")]
mod addresses;
#[cfg(feature = "stacks")]
mod call;
#[cfg(feature = "stacks")]
mod code_map;
#[cfg(feature = "stacks")]
mod elf;
#[cfg(feature = "stacks")]
pub mod functions;
#[cfg(feature = "stacks")]
mod index;
#[cfg(feature = "stacks")]
pub mod interpreter;
#[cfg(feature = "stacks")]
mod loaded;
#[cfg(feature = "stacks")]
mod mapped;
#[cfg(feature = "stacks")]
mod modules;
#[cfg(feature = "stacks")]
mod rule;
#[cfg(feature = "stacks")]
mod rules;
#[cfg(feature = "stacks")]
mod samples;
#[cfg(feature = "stacks")]
mod side_stack;
#[cfg(feature = "stacks")]
mod stack_window;
#[cfg(feature = "stacks")]
mod table;
#[cfg(feature = "stacks")]
mod unwind;

#[cfg(not(feature = "stacks"))]
pub use absent::*;
#[cfg(feature = "stacks")]
pub use code_map::ADDRESS_BITS;
#[cfg(all(test, feature = "stacks"))]
pub use modules::with_modules;
#[cfg(feature = "stacks")]
pub use modules::{KnownFile, Modules};
#[cfg(feature = "stacks")]
pub use samples::*;
#[cfg(feature = "stacks")]
pub use table::{NO_STACK, frames, is_cut};
