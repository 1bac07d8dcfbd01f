//! The blocks of devices: who owns them, now and at the peak of each device.
//!
//! The blocks are those that the caching allocator told of. With each event it also says how much it has handed out in all;
//! what that is more than the blocks that are known belongs to nobody: it was handed out before the recording, or without
//! an event.
use alloc_timeline::Category;
use rustc_hash::FxHashMap;

use crate::amount::{Amount, positive};
use crate::event::{DeviceTotals, Event};
use crate::high_water::{AmountAtPeaks, HighWaterMark, HighWaterMarks, Moment, Span};
use crate::scope::{NOBODY, NameId, ScopeId};

/// A scope in a category.
type Owner = (ScopeId, Category);

/// Who owns what nobody told of.
const UNKNOWN: Owner = (NOBODY, Category::Other);

/// A block that lives.
#[derive(Clone, Copy, Debug)]
struct Block {
    owner: Owner,
    bytes: u64,
    /// Number of the event that made it.
    event: u64,
    /// The call of an operator that allocated it; 0: none.
    op_call: u64,
    /// A label gave its category, which stays.
    labelled: bool,
}

impl Block {
    fn amount(&self) -> Amount {
        let bytes = self.bytes as i64;
        Amount { usable: bytes, requested: bytes, blocks: 1 }
    }
}

/// One device's blocks and their owners.
#[derive(Debug, Default)]
pub struct Device {
    pub name: NameId,
    pub allocations: u64,
    pub frees: u64,
    /// How many of the frees were of blocks that nobody told of.
    pub unknown_frees: u64,
    /// The most bytes in segments.
    pub most_reserved: u64,
    blocks: FxHashMap<u64, Block>,
    owners: FxHashMap<Owner, AmountAtPeaks>,
    marks: HighWaterMarks,
    /// Bytes in `blocks`.
    known: i64,
    /// What the allocator has handed out beyond them.
    unknown: AmountAtPeaks,
}

impl Device {
    /// The instant at which the most bytes were handed out.
    pub fn peak(&self) -> &HighWaterMark {
        self.marks.of(Span::Session)
    }

    /// What each owner held at that instant.
    pub fn at_peak(&self) -> impl Iterator<Item = (ScopeId, Category, Amount)> {
        let at_peak = |amount: &AmountAtPeaks| amount.at(Span::Session, &self.marks);
        let mut held: FxHashMap<Owner, Amount> = FxHashMap::default();
        for (&owner, amount) in self.owners.iter().chain([(&UNKNOWN, &self.unknown)]) {
            *held.entry(owner).or_default() += at_peak(amount);
        }
        held.into_iter().map(|((scope, category), amount)| (scope, category, amount))
    }

    /// Bytes at the peak of which nobody told.
    pub fn unknown_at_peak(&self) -> u64 {
        positive(self.unknown.at(Span::Session, &self.marks).usable)
    }

    fn change(&mut self, owner: Owner, amount: Amount) {
        self.owners.entry(owner).or_default().change(amount, &self.marks);
    }

    /// Moves a block to another owner: at the peak, if the block was there, and now if it `lives`.
    fn give(&mut self, block: &Block, owner: Owner, lives: bool) {
        let amounts = [(block.owner, -block.amount()), (owner, block.amount())];
        if block.event <= self.peak().event {
            for (owner, amount) in amounts {
                self.owners.entry(owner).or_default().change_at_peak(Span::Session, amount, &self.marks);
            }
        }
        if lives {
            amounts.into_iter().for_each(|(owner, amount)| self.change(owner, amount));
        }
    }

    fn allocated(&mut self, address: u64, block: Block) {
        self.allocations += 1;
        self.known += block.bytes as i64;
        self.change(block.owner, block.amount());
        if let Some(unfreed) = self.blocks.insert(address, block) {
            // Nobody told of its free: it cannot live at an address that was handed out again.
            self.known -= unfreed.bytes as i64;
            self.change(unfreed.owner, -unfreed.amount());
        }
    }

    fn freed(&mut self, address: u64, op_call: u64) {
        self.frees += 1;
        let Some(block) = self.blocks.remove(&address) else {
            self.unknown_frees += 1;
            return;
        };
        if block.op_call != 0 && block.op_call == op_call && !block.labelled {
            self.give(&block, (block.owner.0, Category::Workspace), false);
        }
        self.known -= block.bytes as i64;
        self.change(block.owner, -block.amount());
    }

    fn labelled(&mut self, address: u64, scope: Option<ScopeId>, category: Category) {
        let Some(&before) = self.blocks.get(&address) else { return };
        let category = if before.labelled { category.after(before.owner.1) } else { category };
        let owner = (scope.unwrap_or(before.owner.0), category);
        if owner != before.owner {
            self.give(&before, owner, true);
        }
        self.blocks.insert(address, Block { owner, labelled: true, ..before });
    }

    /// The allocator's own totals after an event.
    fn told(&mut self, totals: DeviceTotals, at: Moment, is_paused: bool) {
        self.most_reserved = self.most_reserved.max(totals.reserved);
        let unknown = (totals.allocated as i64 - self.known).max(0);
        let change = unknown - self.unknown.live().usable;
        self.unknown.change(Amount { usable: change, requested: change, blocks: 0 }, &self.marks);
        if !is_paused {
            self.marks.raise(self.known + unknown, at);
        }
    }
}

/// All devices of which an event told.
#[derive(Debug, Default)]
pub struct DeviceBlocks {
    devices: Vec<Device>,
}

impl DeviceBlocks {
    /// The devices, in the order in which they were first told of.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn device(&mut self, name: NameId) -> &mut Device {
        let known = self.devices.iter().position(|device| device.name == name);
        let index = known.unwrap_or_else(|| {
            self.devices.push(Device { name, ..Device::default() });
            self.devices.len() - 1
        });
        &mut self.devices[index]
    }

    /// Takes in an event of a device's block; other events change nothing. While the recording is paused, no instant counts
    /// as a peak.
    pub fn apply(&mut self, event: &Event, at: Moment, is_paused: bool) {
        match *event {
            Event::DeviceAllocated { device, scope, address, bytes, totals, op_call, category } => {
                let owner = (scope, category.unwrap_or(Category::Other));
                let device = self.device(device);
                device.allocated(address, Block { owner, bytes, event: at.event, op_call, labelled: false });
                device.told(totals, at, is_paused);
            }
            Event::DeviceFreed { device, address, bytes: _, totals, op_call } => {
                let device = self.device(device);
                device.freed(address, op_call);
                device.told(totals, at, is_paused);
            }
            Event::DeviceLabelled { scope, address, category } => {
                // The one who labels has an address and no device. Where addresses are unique, at most one device has it.
                self.devices.iter_mut().for_each(|device| device.labelled(address, scope, category));
            }
            _ => {}
        }
    }
}
