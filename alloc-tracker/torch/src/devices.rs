//! What the shim tells of devices, handed on to the tracker: their blocks, and the figures of their caching allocators.
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use alloc_tracker::devices::{self, Device, DeviceStats, DeviceTotals, Figure};
use alloc_tracker::hooks;

use crate::events::ATTRIBUTION;
use crate::shim;

/// libtorch has about twenty kinds of devices, and at most 16 of them are told apart by the tracker.
const KINDS: usize = 32;
const INDICES: usize = 16;
/// What stands for a device that found no room in the tracker's table.
const NONE: u8 = u8::MAX;

/// The tracker's number of each device, plus 1; 0: not asked yet.
static KNOWN: [[AtomicU8; INDICES]; KINDS] = [const { [const { AtomicU8::new(0) }; INDICES] }; KINDS];

/// The tracker's device for libtorch's kind and index of one. Only the first question allocates.
fn tracked(kind: i8, index: i8) -> Option<Device> {
    // PyTorch leaves the index of the only device out, as -1.
    let place = KNOWN.get(usize::try_from(kind).ok()?)?.get(usize::try_from(index.max(0)).ok()?)?;
    match place.load(Ordering::Relaxed) {
        NONE => None,
        0 => {
            let device = shim::with_device_name(kind, index.max(0), devices::device).flatten();
            place.store(device.map_or(NONE, |device| device.index() as u8 + 1), Ordering::Relaxed);
            device
        }
        known => Device::at(usize::from(known) - 1),
    }
}

/// libtorch's kind and index of the tracker's device.
fn of_libtorch(device: Device) -> Option<(i8, i8)> {
    let is_it = |place: &AtomicU8| usize::from(place.load(Ordering::Relaxed)) == device.index() + 1;
    let mut places = KNOWN.iter().enumerate().flat_map(|(kind, row)| row.iter().enumerate().map(move |at| (kind, at)));
    places.find(|(_, (_, place))| is_it(place)).map(|(kind, (index, _))| (kind as i8, index as i8))
}

/// A caching allocator handed out a block of `bytes` bytes, or took one of `-bytes` back.
#[unsafe(no_mangle)]
extern "C" fn alloc_torch_device_block(kind: i8, index: i8, address: usize, bytes: i64, allocated: u64, reserved: u64) {
    let Some(device) = tracked(kind, index) else { return };
    let (address, size, totals) = (address as u64, bytes.unsigned_abs(), DeviceTotals { allocated, reserved });
    if bytes > 0 {
        devices::allocated(device, address, size, totals, Some(ATTRIBUTION.storage_category(hooks::current())));
    } else {
        devices::freed(device, address, size, totals);
    }
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
    let (kind, index) = of_libtorch(device)?;
    let figures = shim::device_stats(kind, index)?;
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
