//! A model of the caching allocator that PyTorch puts before a device's memory: what it would reserve for the tensors of
//! a run, without the device.
//!
//! The rules are those of `c10/cuda/CUDACachingAllocator.cpp` and `c10/core/AllocatorConfig.h` of PyTorch 2.11: sizes are
//! rounded up to 512 bytes; requests of up to 1 MiB come out of segments of 2 MiB, larger ones out of segments of 20 MiB
//! or, from 10 MiB on, of their own size rounded up to 2 MiB; the best-fitting free block is taken and split where enough
//! is left; neighbours that are free are merged; segments are kept. With expandable segments, each pool is one segment
//! that grows at its end.
//!
//! The model has one stream and one device, and addresses that only grow. It knows nothing of private pools (CUDA
//! graphs), of blocks whose free waits for another stream, and of garbage collection below the limit.

mod settings;

mod segments;

mod allocator;

pub use allocator::{CachingAllocator, DeviceBlock, DeviceFigures, DeviceSegment, OutOfMemory};
pub use settings::{Settings, SettingsError};

#[cfg(test)]
mod tests;
