//! The memory of devices such as GPUs: what was measured, and what the tensors of the run would have taken.
use serde::{Deserialize, Serialize};

use super::book::BeyondLine;
use super::snapshot::Snapshot;

/// What a run did with the memory of one device, as its caching allocator and its driver told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMemory {
    /// As PyTorch calls it: `cuda:0`.
    pub device: String,
    /// The product, as the driver calls it. Empty: not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub product: String,
    /// How many blocks the caching allocator handed out; `None`: no event of a block ever came, `source` has the reason.
    pub allocations: Option<u64>,
    /// How many it took back.
    pub frees: Option<u64>,
    /// The most bytes that the caching allocator had from the device, in segments: `max_memory_reserved`.
    pub reserved_bytes: Option<u64>,
    /// The instant at which the most bytes were handed out, `max_memory_allocated`, and which scope owned them. The sizes
    /// are those of blocks, after rounding; the allocator does not tell what each was asked for, so the requested bytes are
    /// the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Snapshot>,
    /// When the lines of `book` were read, since the session began.
    pub book_ns: Option<u64>,
    /// From requested bytes to what is used of the device, in totals and steps as those of
    /// [`Book::beyond`](super::Book::beyond). Read as near to the peak as a tick comes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub book: Vec<BeyondLine>,
    /// Where the figures come from, or why there are none.
    pub source: String,
}

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
