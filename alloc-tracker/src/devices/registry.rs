//! The devices of which a framework told, each with what its caching allocator said last.
//!
//! A device is a number here: its place in a table that never shrinks. Looking a device up by its name happens once for
//! each device of a framework; what an event does is to store two numbers.
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use alloc_replay::NameId;

use crate::{ledger, scope};

/// The most devices that are told apart. A machine with sixteen GPUs is a large one.
const MOST: usize = 16;

/// A device such as a GPU, as its number.
///
/// ```
/// use alloc_tracker::devices::device;
///
/// let first = device("cuda:0").expect("one of sixteen");
/// assert_eq!(device("cuda:0"), Some(first));
/// assert_eq!(first.name(), "cuda:0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device(u8);

impl Device {
    /// Its place in the table, from 0.
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// The device at a place of the table that [`index`](Device::index) gave; `None` when nobody told of it.
    pub fn at(index: usize) -> Option<Device> {
        let place = PLACES.get(index)?;
        (place.name.load(Ordering::Acquire) != 0).then_some(Device(index as u8))
    }

    /// As the framework calls it: `cuda:0`.
    pub fn name(self) -> &'static str {
        scope::text(self.name_id())
    }

    pub(super) fn name_id(self) -> NameId {
        PLACES[self.index()].name.load(Ordering::Relaxed)
    }
}

/// What a device's caching allocator holds, as it said with its last event.
///
/// ```
/// let totals = alloc_tracker::devices::DeviceTotals { allocated: 512, reserved: 2 << 20 };
/// assert!(totals.allocated <= totals.reserved);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTotals {
    /// Bytes in blocks that are handed out.
    pub allocated: u64,
    /// Bytes in segments that it has from the device, handed out or not.
    pub reserved: u64,
}

struct Place {
    /// 0: the place is free. (Name number 0 is the empty name, which no device has.)
    name: AtomicU32,
    /// Whether an event of a block ever came.
    events: AtomicU64,
    allocated: AtomicU64,
    reserved: AtomicU64,
}

static PLACES: [Place; MOST] = [const {
    Place {
        name: AtomicU32::new(0),
        events: AtomicU64::new(0),
        allocated: AtomicU64::new(0),
        reserved: AtomicU64::new(0),
    }
}; MOST];

/// The device called `name`, entered in the table if it is new there. `None` for the empty name, and when the table is
/// full. This may allocate; a framework asks once for each device.
pub fn device(name: &str) -> Option<Device> {
    let wanted = ledger::as_tracker(|| scope::name(name));
    if wanted == 0 {
        return None;
    }
    for (index, place) in PLACES.iter().enumerate() {
        let claimed = place.name.compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Acquire);
        if claimed.is_ok() || claimed == Err(wanted) {
            return Some(Device(index as u8));
        }
    }
    None
}

/// All devices of which somebody told, in the order in which they were first seen.
pub fn devices() -> impl Iterator<Item = Device> {
    (0..MOST).map_while(Device::at)
}

/// What the caching allocator of `device` said with its last event; `None`: no event of a block ever came.
pub fn totals(device: Device) -> Option<DeviceTotals> {
    let place = &PLACES[device.index()];
    // The two numbers may be of two events that follow each other.
    (place.events.load(Ordering::Acquire) > 0).then(|| DeviceTotals {
        allocated: place.allocated.load(Ordering::Relaxed),
        reserved: place.reserved.load(Ordering::Relaxed),
    })
}

/// An event of a block told these totals.
pub(super) fn told(device: Device, totals: DeviceTotals) {
    let place = &PLACES[device.index()];
    place.allocated.store(totals.allocated, Ordering::Relaxed);
    place.reserved.store(totals.reserved, Ordering::Relaxed);
    place.events.fetch_add(1, Ordering::Release);
}

/// Whether any device is known. Nothing else is asked of this module while none is.
pub fn in_use() -> bool {
    PLACES[0].name.load(Ordering::Relaxed) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_entered_once_and_has_no_totals_before_its_first_event() {
        let first = device("test:7").expect("room");
        assert_eq!((device("test:7"), Device::at(first.index())), (Some(first), Some(first)));
        assert!(devices().any(|known| known == first) && in_use());
        assert_eq!((totals(first), first.name()), (None, "test:7"));
        told(first, DeviceTotals { allocated: 512, reserved: 1024 });
        assert_eq!(totals(first), Some(DeviceTotals { allocated: 512, reserved: 1024 }));
        assert_eq!(device(""), None);
    }
}
