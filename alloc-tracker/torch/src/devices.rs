//! What the shim tells of devices, handed on to the tracker: their blocks, and the figures of their caching allocators.
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use alloc_torch_core::{DeviceNumbers, DeviceTable, device_block};
use alloc_tracker::devices::{self, Device, DeviceStats, DeviceTotals, Figure};
use alloc_tracker::hooks;

use crate::events::ATTRIBUTION;
use crate::shim;

static TABLE: DeviceTable = DeviceTable::new();

/// The tracker's device for libtorch's kind and index of one. Only the first question allocates.
fn tracked(kind: i8, index: i8) -> Option<Device> {
    let name = |numbers: DeviceNumbers| shim::with_device_name(numbers.kind, numbers.index, devices::device).flatten();
    TABLE.tracked(DeviceNumbers { kind, index }, name)
}

/// A caching allocator handed out a block of `bytes` bytes, or took one of `-bytes` back.
#[unsafe(no_mangle)]
extern "C" fn alloc_torch_device_block(kind: i8, index: i8, address: usize, bytes: i64, allocated: u64, reserved: u64) {
    let Some(device) = tracked(kind, index) else { return };
    device_block(device, address, bytes, DeviceTotals { allocated, reserved }, || {
        ATTRIBUTION.storage_category(hooks::current())
    });
}

/// A caching allocator had no room for `bytes` bytes.
#[unsafe(no_mangle)]
extern "C" fn alloc_torch_device_out_of_memory(kind: i8, index: i8, bytes: i64, allocated: u64, reserved: u64) {
    if let Some(device) = tracked(kind, index) {
        devices::out_of_memory(device, bytes.unsigned_abs(), DeviceTotals { allocated, reserved });
    }
}

/// torch's own profiler is active on a thread that runs an operator: that thread's blocks are told to it.
#[unsafe(no_mangle)]
extern "C" fn alloc_torch_profiler_is_active() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        devices::unwatched("torch's profiler is active on a thread: its blocks of devices are not seen");
    }
}

fn stats(device: Device) -> Option<DeviceStats> {
    let numbers = TABLE.numbers_of(device)?;
    let figures = shim::device_stats(numbers.kind, numbers.index)?;
    let figure = |place: usize| Figure { now: figures[2 * place], most: figures[2 * place + 1] };
    Some(DeviceStats {
        requested: figure(0),
        allocated: figure(1),
        active: figure(2),
        inactive_split: figure(3),
        reserved: figure(4),
        segments: figure(5),
        retries: figures[12],
        out_of_memory: figures[13],
    })
}

/// Watches the blocks of devices from now on, besides what [`install`](crate::install) watches: which layer, phase and
/// operator owns each block that a caching allocator hands out. [`install`](crate::install) does it itself when libtorch
/// knows of a device by then; a program whose device comes later calls this.
///
/// A thread tells of blocks from its first operator on; of a backward pass on threads of libtorch's own, all of it is told.
/// libtorch's own profiler cannot be started on a thread that tells of blocks.
///
/// ```no_run
/// alloc_torch::install()?;
/// alloc_torch::watch_devices();
/// # Ok::<(), alloc_torch::InstallError>(())
/// ```
pub fn watch_devices() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        ATTRIBUTION.prepare();
        devices::provide_device_stats(stats);
    });
    // Each call makes the calling thread tell at once.
    shim::watch_devices();
}
