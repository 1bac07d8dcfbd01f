//! The blocks of devices such as GPUs. A caching allocator tells c10 of each block that it hands out or takes back, by a function that lies in
//! another library than the allocator; this library has a function of that name as well, which the loader finds first.
//!
//! The allocator calls with its own lock held. So nothing here allocates or takes a lock, but for the first block of a device.
use std::ffi::{CStr, c_void};

use alloc_torch_core::{DeviceNumbers, DeviceTable, device_block};
use alloc_tracker::devices::{self, Device, DeviceTotals};

use super::operators::ATTRIBUTION;
use super::own::Own;
use super::storages;

const FILE: &CStr = c"libc10.so";

type ReportBlock = unsafe extern "C-unwind" fn(*mut c_void, i64, usize, usize, DeviceNumbers);
type ReportOutOfMemory = unsafe extern "C-unwind" fn(i64, usize, usize, DeviceNumbers);

static BLOCK: Own = Own::new(c"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", FILE);
static OUT_OF_MEMORY: Own = Own::new(c"_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE", FILE);

static TABLE: DeviceTable = DeviceTable::new();

/// The names of the kinds of devices that have a memory of their own, by their numbers in c10/core/DeviceType.h, which promises that none
/// is given twice. The last is what a program makes itself.
const NAMES: [(i8, &str); 8] =
    [(1, "cuda"), (6, "hip"), (12, "xpu"), (13, "mps"), (15, "hpu"), (18, "ipu"), (19, "mtia"), (20, "privateuseone")];

/// Looks up what is needed, before a device's allocator waits for it with its lock held.
pub fn begin() {
    ATTRIBUTION.prepare();
    BLOCK.address();
    OUT_OF_MEMORY.address();
}

/// The tracker's device. Only the first question allocates.
fn tracked(numbers: DeviceNumbers) -> Option<Device> {
    TABLE.tracked(numbers, |DeviceNumbers { kind, index }| {
        let known = NAMES.iter().find(|(number, _)| *number == kind);
        devices::device(&known.map_or_else(|| format!("device {kind}:{index}"), |(_, name)| format!("{name}:{index}")))
    })
}

/// `c10::reportMemoryUsageToProfiler(void*, int64_t, size_t, size_t, c10::Device)`.
///
/// # Safety
/// As for libtorch's own.
#[unsafe(export_name = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")]
pub unsafe extern "C-unwind" fn report_block(
    block: *mut c_void,
    bytes: i64,
    allocated: usize,
    reserved: usize,
    numbers: DeviceNumbers,
) {
    if !numbers.is_processor()
        && !block.is_null()
        && bytes != 0
        && let Some(device) = tracked(numbers)
    {
        let totals = DeviceTotals { allocated: allocated as u64, reserved: reserved as u64 };
        device_block(device, block.addr(), bytes, totals, storages::category);
    }
    // SAFETY: libtorch's function of this name, which has this one's type.
    if let Some(own) = unsafe { BLOCK.function::<ReportBlock>() } {
        // SAFETY: as the caller promises.
        unsafe { own(block, bytes, allocated, reserved, numbers) }
    }
}

/// `c10::reportOutOfMemoryToProfiler(int64_t, size_t, size_t, c10::Device)`.
///
/// # Safety
/// As for libtorch's own.
#[unsafe(export_name = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE")]
pub unsafe extern "C-unwind" fn report_out_of_memory(
    bytes: i64,
    allocated: usize,
    reserved: usize,
    numbers: DeviceNumbers,
) {
    if !numbers.is_processor()
        && let Some(device) = tracked(numbers)
    {
        let totals = DeviceTotals { allocated: allocated as u64, reserved: reserved as u64 };
        devices::out_of_memory(device, bytes.unsigned_abs(), totals);
    }
    // SAFETY: as above.
    if let Some(own) = unsafe { OUT_OF_MEMORY.function::<ReportOutOfMemory>() } {
        // SAFETY: as the caller promises.
        unsafe { own(bytes, allocated, reserved, numbers) }
    }
}
