//! What the tensors of the run would have taken on a device.
use serde::{Deserialize, Serialize};

/// What PyTorch's caching allocator would have used of a device's memory for the tensors of this run, by a model of it
/// that saw each tensor come and go. The device's context, its libraries, and workspaces that only its own operators need
/// are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePrediction {
    /// The allocator's settings, as in `PYTORCH_ALLOC_CONF`. Empty: the defaults.
    pub settings: String,
    /// The most bytes that tensors asked for at once.
    pub requested_bytes: u64,
    /// The most bytes in blocks that were handed out at once: `max_memory_allocated`.
    pub allocated_bytes: u64,
    /// The most bytes in segments: `max_memory_reserved`.
    pub reserved_bytes: u64,
    /// The most segments at once.
    pub segments: u64,
}
