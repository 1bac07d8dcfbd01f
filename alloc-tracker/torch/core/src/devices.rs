//! Devices as libtorch numbers them, and their blocks as their caching allocators tell of them, handed on to the tracker.
use std::sync::atomic::{AtomicU8, Ordering};

use alloc_tracker::Category;
use alloc_tracker::devices::{self, Device, DeviceTotals};

/// libtorch has about twenty kinds of devices, and at most 16 devices are told apart by the tracker.
const KINDS: usize = 32;
const INDICES: usize = 16;
/// What stands for a device that found no room in the tracker's table.
const NONE: u8 = u8::MAX;

/// libtorch's numbers of a device, as `c10::Device` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DeviceNumbers {
    /// `c10::DeviceType`: 0 is the processor, 1 CUDA.
    pub kind: i8,
    /// Which of its kind, from 0; -1 for the only one.
    pub index: i8,
}

impl DeviceNumbers {
    /// Whether it is the processor, whose memory is the process's own.
    pub fn is_processor(self) -> bool {
        self.kind == 0
    }
}

/// The tracker's device for each of libtorch's.
///
/// ```
/// use alloc_torch_core::{DeviceNumbers, DeviceTable};
/// use alloc_tracker::devices;
///
/// static TABLE: DeviceTable = DeviceTable::new();
///
/// let first = DeviceNumbers { kind: 1, index: 0 };
/// let device = TABLE.tracked(first, |_| devices::device("cuda:0")).expect("one of sixteen");
/// assert_eq!((device.name(), TABLE.numbers_of(device)), ("cuda:0", Some(first)));
/// ```
#[derive(Debug)]
pub struct DeviceTable {
    /// The tracker's number of each device, plus 1; 0: not asked yet.
    known: [[AtomicU8; INDICES]; KINDS],
}

impl DeviceTable {
    /// One in which no device is known yet.
    #[expect(clippy::new_without_default, reason = "it is for statics, which need a constant")]
    pub const fn new() -> DeviceTable {
        DeviceTable { known: [const { [const { AtomicU8::new(0) }; INDICES] }; KINDS] }
    }

    /// The tracker's device. When it is first asked for, `enter` has the tracker know it, with an index that is not -1; only that may
    /// allocate. `None` where the tracker has no room for it.
    pub fn tracked(
        &self,
        numbers: DeviceNumbers,
        enter: impl FnOnce(DeviceNumbers) -> Option<Device>,
    ) -> Option<Device> {
        let numbers = DeviceNumbers { index: numbers.index.max(0), ..numbers };
        let place = self.known.get(usize::try_from(numbers.kind).ok()?)?.get(usize::try_from(numbers.index).ok()?)?;
        match place.load(Ordering::Relaxed) {
            NONE => None,
            0 => {
                let device = enter(numbers);
                place.store(device.map_or(NONE, |device| device.index() as u8 + 1), Ordering::Relaxed);
                device
            }
            known => Device::at(usize::from(known) - 1),
        }
    }

    /// libtorch's numbers of a device that [`tracked`](Self::tracked) has returned.
    pub fn numbers_of(&self, device: Device) -> Option<DeviceNumbers> {
        let is_it = |place: &AtomicU8| usize::from(place.load(Ordering::Relaxed)) == device.index() + 1;
        let mut places =
            self.known.iter().enumerate().flat_map(|(kind, row)| row.iter().enumerate().map(move |at| (kind, at)));
        places
            .find(|(_, (_, place))| is_it(place))
            .map(|(kind, (index, _))| DeviceNumbers { kind: kind as i8, index: index as i8 })
    }
}

/// A caching allocator handed out a block of `bytes` bytes for what `category` says, or took one of `-bytes` back. `totals` has that
/// already. It allocates nothing.
pub fn device_block(
    device: Device,
    address: usize,
    bytes: i64,
    totals: DeviceTotals,
    category: impl FnOnce() -> Category,
) {
    let (address, size) = (address as u64, bytes.unsigned_abs());
    if bytes > 0 {
        devices::allocated(device, address, size, totals, Some(category()));
    } else {
        devices::freed(device, address, size, totals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_entered_once_and_one_without_room_is_not_asked_for_again() {
        let table = DeviceTable::new();
        let numbers = DeviceNumbers { kind: 20, index: -1 };
        let entered = table.tracked(numbers, |numbers| {
            assert_eq!(numbers.index, 0, "the only one is the first");
            devices::device("core-test:0")
        });
        assert!(entered.is_some());
        assert_eq!(table.tracked(numbers, |_| panic!("it is known")), entered);
        assert_eq!(entered.and_then(|device| table.numbers_of(device)), Some(DeviceNumbers { index: 0, ..numbers }));
        let other = DeviceNumbers { kind: 1, index: 3 };
        assert_eq!(table.tracked(other, |_| None), None);
        assert_eq!(table.tracked(other, |_| panic!("there was no room for it")), None);
        for far in [DeviceNumbers { kind: 32, index: 0 }, DeviceNumbers { kind: -1, index: 0 }] {
            assert_eq!(table.tracked(far, |_| panic!("it has no place")), None);
        }
    }
}
