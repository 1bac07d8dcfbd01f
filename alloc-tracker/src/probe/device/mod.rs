//! The memory of devices such as GPUs, line by line: from what the program asked for to what is used of the device.
//!
//! [`inputs`] are plain numbers, and everything from there to the lines is arithmetic: [`place`] finds the driver's device,
//! [`process`] this process on it, [`context`] what the process has beyond the allocator's bytes, and [`mod@book`] the lines.
//! [`gpu`] asks the driver; [`books`] reads and keeps.
mod inputs;
mod place;

mod context;
mod process;

#[cfg(feature = "gpu")]
mod gpu;
#[cfg(not(feature = "gpu"))]
#[path = "no_gpu.rs"]
mod gpu;

mod book;

mod books;

pub use books::DeviceBooks;
pub use gpu::{Driver, Gpu};
pub use process::namespace_pids;
