//! The operating system, as an allocator may use it: nothing here allocates memory, except [`Thread`] and the functions
//! whose documentation says so.
mod cache_line;
mod cancellation;
mod clock;
mod descriptors;
mod errno;
mod folder;
mod handler;
pub mod last_thread;
mod map;
mod next_allocator;
mod overcommit;
#[cfg(feature = "stacks")]
mod own_stack;
mod page;
mod queue;
mod rlimit;
mod stderr;
mod stop_flag;
pub mod stream_lock;
pub mod sync;
mod tasks;
mod this_thread;
mod thread;
mod usage;

pub use cache_line::{begin_at_cache_line, prefetch_for_write};
pub use cancellation::without_cancellation;
pub use clock::{later_ns, now_ns, unix_ns};
pub use descriptors::own_descriptors;
pub use errno::{preserving_errno, set_errno};
pub use folder::entries;
pub use handler::in_handler;
pub use map::{get_or_map, keep_pages_small, map_zeroed, mappings, refused, unmap};
pub use next_allocator::{next_free, next_realloc, next_usable_size, object_of};
pub use overcommit::exceeds_memory;
#[cfg(feature = "stacks")]
pub use own_stack::OwnStack;
pub use page::page_bytes;
pub use queue::Queue;
pub use rlimit::{Resource, resource_limit};
pub use stderr::say;
pub use stop_flag::StopFlag;
pub use tasks::{ThreadCount, thread_ids, thread_ids_of};
pub use this_thread::thread_id;
#[cfg(feature = "stacks")]
pub use this_thread::thread_name;
pub use thread::Thread;
pub use usage::{process_cpu_ns, process_usage, thread_cpu_ns, ticks_per_second, usage_since};
