//! A device's blocks as a framework tells of them: each becomes an event, and the device's totals are kept.
//!
//! A caching allocator may tell of a block while it has its own lock. So nothing here allocates or takes a lock; a thread
//! that finds the event ring full reads it, as everywhere.
use std::sync::atomic::Ordering;

use alloc_replay::{Event, NameId, Parts, ScopeId};
use alloc_timeline::Category;

use super::owners;
use super::registry::{self, Device, DeviceTotals};
use crate::ledger::{self, Slot};
use crate::scope;

fn totals_of(totals: DeviceTotals) -> alloc_replay::DeviceTotals {
    let DeviceTotals { allocated, reserved } = totals;
    alloc_replay::DeviceTotals { allocated, reserved }
}

fn emit(slot: Option<&Slot>, event: &Event) {
    // Without a session nobody wants it; one that is lost is counted with the dropped events.
    let _ = ledger::emit(slot, event);
}

fn op_call(slot: Option<&Slot>) -> u64 {
    slot.map_or(0, |slot| slot.op_call.load(Ordering::Relaxed))
}

/// The caching allocator of `device` handed out the block of `bytes` bytes at `address`; `totals` has that block. The scope
/// that is active on this thread owns it. `category` says what it is for.
///
/// ```
/// use alloc_tracker::Category;
/// use alloc_tracker::devices::{self, DeviceTotals};
///
/// let gpu = devices::device("cuda:0").expect("one of sixteen");
/// let totals = DeviceTotals { allocated: 512, reserved: 2 << 20 };
/// devices::allocated(gpu, 0x7000_0000, 512, totals, Some(Category::Activation));
/// assert_eq!(devices::totals(gpu), Some(totals));
/// ```
pub fn allocated(device: Device, address: u64, bytes: u64, totals: DeviceTotals, category: Option<Category>) {
    registry::told(device, totals);
    let slot = ledger::acquire();
    let scope = slot.map_or_else(ledger::scope_without_slot, Slot::scope);
    owners::put(address, scope);
    let (device, totals, op_call) = (device.name_id(), totals_of(totals), op_call(slot));
    emit(slot, &Event::DeviceAllocated { device, scope, address, bytes, totals, op_call, category });
}

/// The caching allocator of `device` took the block of `bytes` bytes at `address` back; `totals` no longer has it.
///
/// ```
/// use alloc_tracker::devices::{self, DeviceTotals};
///
/// let gpu = devices::device("cuda:0").expect("one of sixteen");
/// devices::freed(gpu, 0x7000_0000, 512, DeviceTotals { allocated: 0, reserved: 2 << 20 });
/// ```
pub fn freed(device: Device, address: u64, bytes: u64, totals: DeviceTotals) {
    registry::told(device, totals);
    owners::take(address);
    let slot = ledger::acquire();
    let (device, totals, op_call) = (device.name_id(), totals_of(totals), op_call(slot));
    emit(slot, &Event::DeviceFreed { device, address, bytes, totals, op_call });
}

/// The caching allocator of `device` had no room for `bytes` bytes more: that becomes a mark.
///
/// ```
/// use alloc_tracker::devices::{self, DeviceTotals};
///
/// let gpu = devices::device("cuda:0").expect("one of sixteen");
/// devices::out_of_memory(gpu, 1 << 40, DeviceTotals { allocated: 512, reserved: 2 << 20 });
/// ```
pub fn out_of_memory(device: Device, bytes: u64, totals: DeviceTotals) {
    let device = device.name_id();
    emit(ledger::acquire(), &Event::DeviceOutOfMemory { device, bytes, totals: totals_of(totals) });
}

/// Notes in the list of marks why blocks of devices are not seen from now on, or not all of them.
///
/// ```
/// alloc_tracker::devices::unwatched("another profiler is active");
/// ```
pub fn unwatched(why: &str) {
    let name = ledger::as_tracker(|| scope::mark_name(why));
    emit(ledger::acquire(), &Event::Mark { name, with_owners: false });
}

/// The scope that owns the block of a device at `address`; `None` when none is known there.
pub(crate) fn owner(address: u64) -> Option<ScopeId> {
    if registry::in_use() { owners::get(address) } else { None }
}

/// Labels the block of a device at `address` with a category, for its whole life; one that was allocated in no layer, or in one that
/// `gives_way` says yes to, becomes `layer`'s. Returns whether there is such a block and a session records.
pub(crate) fn label(address: u64, category: Category, layer: NameId, gives_way: impl FnOnce(NameId) -> bool) -> bool {
    let Some(before) = owner(address) else { return false };
    let parts = scope::parts(before);
    let mut scope = before;
    if layer != 0 && (parts.layer == 0 || gives_way(parts.layer)) {
        scope = ledger::as_tracker(|| scope::scope_as_old_as(before, Parts { layer, ..parts }));
        owners::put(address, scope);
    }
    ledger::emit(ledger::acquire(), &Event::DeviceLabelled { scope: Some(scope), address, category })
}
