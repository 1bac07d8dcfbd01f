//! What a device's caching allocator answers when it is asked, and not told by itself. The tracker knows no framework, so a
//! framework's face hands a function down.
use std::sync::atomic::{AtomicPtr, Ordering};

use super::registry::Device;

/// The figures of a device's caching allocator. Each is a pair: now, and the most so far.
///
/// ```
/// use alloc_tracker::devices::{DeviceStats, Figure};
///
/// let stats = DeviceStats { reserved: Figure { now: 2 << 20, most: 4 << 20 }, ..DeviceStats::default() };
/// assert!(stats.reserved.now <= stats.reserved.most);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Bytes that the program asked for.
    pub requested: Figure,
    /// Bytes in blocks that are handed out: requested ones after rounding.
    pub allocated: Figure,
    /// Allocated bytes, and those whose free waits for another stream.
    pub active: Figure,
    /// Bytes in free parts of segments that are in use, which cannot go back to the device.
    pub inactive_split: Figure,
    /// Bytes in segments.
    pub reserved: Figure,
    /// Number of segments.
    pub segments: Figure,
    /// How often a request failed and was tried again after unused segments went back to the device.
    pub retries: u64,
    /// How often a request failed for good.
    pub out_of_memory: u64,
}

/// A figure now, and the most it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    /// Now.
    pub now: u64,
    /// The most so far.
    pub most: u64,
}

/// Asks a caching allocator; `None` when the device has none, or it does not answer.
pub type DeviceStatsFunction = fn(Device) -> Option<DeviceStats>;

/// A [`DeviceStatsFunction`]; null before a framework gave one.
static FUNCTION: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Gives the function that asks a device's caching allocator. It is called from the recorder's thread and must be safe to
/// call from any; it may wait for the allocator's lock.
pub fn provide_device_stats(function: DeviceStatsFunction) {
    FUNCTION.store(function as *mut (), Ordering::Release);
}

/// What the caching allocator of `device` answers; `None` when nobody gave a function, or it has no answer.
///
/// It may wait for the allocator's lock. A thread that has that lock may be waiting for room in the event ring: so nobody
/// calls this while he has the right to read the ring (in `with_replay`).
pub fn device_stats(device: Device) -> Option<DeviceStats> {
    let function = FUNCTION.load(Ordering::Acquire);
    if function.is_null() {
        return None;
    }
    // SAFETY: FUNCTION is null or a function of this very type (`provide_device_stats`).
    let function = unsafe { std::mem::transmute::<*mut (), DeviceStatsFunction>(function) };
    function(device)
}

#[cfg(test)]
mod tests {
    use super::super::registry::device;
    use super::*;

    #[test]
    fn nobody_answers_until_a_function_is_given() {
        let device = device("test:8").expect("room");
        assert_eq!(device_stats(device), None);
        provide_device_stats(|_| Some(DeviceStats { retries: 3, ..DeviceStats::default() }));
        assert_eq!(device_stats(device).map(|stats| stats.retries), Some(3));
    }
}
