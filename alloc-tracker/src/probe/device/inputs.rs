//! What a device's book is made of: plain numbers, each with the reason where there is none. They can be written as JSON
//! where a GPU is, and read by a test where none is.
use serde::{Deserialize, Serialize};

/// All that one book of one device needs, read at about one time. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceInputs {
    /// As PyTorch calls the device: `cuda:0`. `gpu:0` is a device that no framework told of, by NVML's number.
    pub device: String,
    /// The caching allocator's figures.
    pub allocator: Result<AllocatorInputs, String>,
    /// What was seen of the process's context.
    pub context: ContextInputs,
    /// The driver's figures.
    pub driver: Result<DriverInputs, String>,
}

/// What a caching allocator says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllocatorInputs {
    /// What the program asked for. Only the statistics have it, as the next two.
    pub requested: Option<u64>,
    /// Blocks that are handed out.
    pub allocated: u64,
    /// Those, and blocks whose free waits for another stream.
    pub active: Option<u64>,
    /// Free parts of segments that are in use.
    pub inactive_split: Option<u64>,
    /// Segments.
    pub reserved: u64,
}

/// What earlier readings say of the memory that the process has on the device beyond the allocator's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextInputs {
    /// The process's bytes at the last reading at which the allocator had reserved nothing.
    pub before_first_segment: Option<u64>,
    /// What the process had beyond the allocator's segments at the first reading that found segments, or at a later one at which there
    /// were none any more.
    #[serde(default)]
    pub beyond_segments: Option<i64>,
    /// By how much the process's bytes grew since then, between readings at which the allocator had reserved the same.
    pub grown_since: i64,
    /// Why these two cannot be relied upon.
    pub problem: Option<String>,
}

/// What the driver says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverInputs {
    /// The product's name.
    pub product: String,
    /// NVML's number of the device; `None` for an instance of a divided one.
    pub index: Option<u32>,
    /// Whether it is sure that this is the framework's device. Empty: it is.
    pub doubt: String,
    /// What processes have allocated: `used` of nvmlMemory_v2_t, which nvidia-smi shows.
    pub used: Result<u64, String>,
    /// What the driver and the firmware keep for themselves: `reserved` of nvmlMemory_v2_t.
    pub reserved: Result<u64, String>,
    /// The processes on the device.
    pub processes: Result<Vec<GpuProcess>, String>,
    /// The numbers that this process has in its PID namespaces.
    pub own_pids: Vec<u32>,
}

/// A process on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuProcess {
    /// Its number, as NVML tells it.
    pub pid: u32,
    /// Its bytes; `None` where the driver does not count them by process.
    pub bytes: Option<u64>,
    /// Whether /proc has a process of that number here.
    pub is_visible: bool,
}
