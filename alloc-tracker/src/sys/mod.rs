//! The operating system, seen from inside an allocator: nothing here allocates.
mod bell;
mod clock;
mod map;
mod next;
pub mod streams;
pub mod sync;
mod thread;

pub use bell::Bell;
pub use clock::{later_ns, now_ns, unix_ns};
pub use map::{map_zeroed, mappings, refused, unmap};
pub use next::{next_free, next_realloc, object_of};
pub use thread::Thread;
