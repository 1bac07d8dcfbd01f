//! The followed blocks: how they come, go, change their size, and get another owner or category.
use alloc_timeline::{Category, Fate};
use rustc_hash::FxHashMap;

use crate::accounts::AccountId;
use crate::amount::Amount;
use crate::counts::{BlockSize, Counts};
use crate::devices::Devices;
use crate::flows::Route;
use crate::followed::FollowedSums;
use crate::group::GroupId;
use crate::high_water::{Moment, Span};
use crate::owners::Owners;
use crate::reads::{LastRead, PeakBlock, Reads};
use crate::scope::ScopeId;

/// A block that lives, as far as it is known.
#[derive(Clone, Copy, Debug)]
struct Block {
    account: AccountId,
    scope: ScopeId,
    size: BlockSize,
    /// Number of the event that made it or last changed its size; 0: one of before this recording.
    event: u64,
    /// The call of an operator that allocated it; 0: none.
    op_call: u64,
    /// Since when it is followed; `None`: a block of before this recording, which is in no sum over followed blocks.
    followed_since: Option<Since>,
    /// A label gave its category, which stays.
    labelled: bool,
    /// It was announced as a storage: who reads it would be told.
    is_storage: bool,
    last_read: Option<LastRead>,
}

/// When a block was first followed.
#[derive(Clone, Copy, Debug)]
struct Since {
    time_ns: u64,
    /// How many steps had begun.
    step: u64,
}

impl Block {
    fn amount(&self) -> Amount {
        Amount::block(self.size)
    }

    /// As the reads sum it up; `None` for a block of which nobody tells when it is read.
    fn of_peak(&self, category: Category) -> Option<PeakBlock> {
        let &Block { scope, event, last_read, .. } = self;
        let is_workspace = category == Category::Workspace;
        let is_told = self.is_storage || last_read.is_some();
        is_told.then(|| PeakBlock { made_in: scope, category, amount: self.amount(), event, last_read, is_workspace })
    }
}

/// A block as an event describes it.
#[derive(Clone, Copy, Debug)]
pub struct EventBlock {
    pub scope: ScopeId,
    pub address: u64,
    pub size: BlockSize,
    /// The call of an operator that is active; 0: none.
    pub op_call: u64,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Blocks {
    live: FxHashMap<u64, Block>,
    /// Those that are being resized, by token.
    resizing: FxHashMap<u64, Block>,
    pub sums: FollowedSums,
    pub reads: Reads,
    pub devices: Devices,
}

impl Blocks {
    /// A block is followed from now on. The caller has added it to the totals.
    pub fn began(&mut self, owners: &mut Owners, described: EventBlock, category: Option<Category>, at: Moment) {
        let EventBlock { scope, address, size, op_call } = described;
        let account = owners.account(scope, category);
        let since = Since { time_ns: at.time_ns, step: at.step };
        let followed_since = Some(since);
        let (is_storage, event) = (category.is_some(), at.event);
        if is_storage {
            self.devices.allocated(address, size.requested);
        }
        let (labelled, last_read) = (false, None);
        let block = Block { account, scope, size, event, op_call, followed_since, labelled, is_storage, last_read };
        owners.change(account, block.amount(), at);
        self.sums.began(owners.accounts.get_mut(account), block.amount());
        owners.note_block(account, size.usable);
        if let Some(unfreed) = self.live.insert(address, block) {
            // Its free was dropped: it cannot live at an address that was given out again.
            self.sum_up_freed(owners, &unfreed, None, false, at);
            owners.change(unfreed.account, -unfreed.amount(), at);
        }
    }

    /// A block is freed while `freed_in` is active.
    pub fn freed(
        &mut self,
        owners: &mut Owners,
        described: EventBlock,
        freed_in: Option<ScopeId>,
        at: Moment,
        totals: &mut impl FnMut(ScopeId, Counts),
    ) {
        let block = self.take(owners, described);
        totals(block.scope, Counts::free(block.size));
        let is_workspace = block.op_call != 0 && block.op_call == described.op_call && !block.labelled;
        let to = freed_in.map(|scope| owners.place_of(scope));
        self.sum_up_freed(owners, &block, to, is_workspace, at);
        let category = if is_workspace { Category::Workspace } else { owners.accounts.get(block.account).category };
        if let Some(block) = block.of_peak(category) {
            self.reads.freed(block, freed_in, at, owners.peaks.marks().of(Span::Session));
        }
        if is_workspace {
            let workspace = owners.account(block.scope, Some(Category::Workspace));
            owners.transfer_at_peaks([block.account, workspace], block.amount(), block.event);
        }
        owners.change(block.account, -block.amount(), at);
    }

    /// Sums up a block that is freed in the layer and phase `to`.
    fn sum_up_freed(
        &mut self,
        owners: &mut Owners,
        block: &Block,
        to: Option<GroupId>,
        is_workspace: bool,
        at: Moment,
    ) {
        let Some(since) = block.followed_since else { return };
        let account = owners.accounts.get_mut(block.account);
        let from = account.groups.place;
        let category = if is_workspace { Category::Workspace } else { account.category };
        let fate = if to == Some(from) && since.step == at.step { Fate::Temporary } else { Fate::Freed };
        let lifetime_ns = at.time_ns.saturating_sub(since.time_ns);
        self.sums.freed(account, block.amount(), Route { from, to, fate, category }, lifetime_ns);
    }

    /// The block at an address, which is nobody's from now on. One that is not known there is of before this recording:
    /// it is counted for its scope, in the base category.
    fn take(&mut self, owners: &mut Owners, described: EventBlock) -> Block {
        self.devices.freed(described.address);
        self.live.remove(&described.address).unwrap_or_else(|| {
            let EventBlock { scope, size, .. } = described;
            let account = owners.account(scope, None);
            let (followed_since, labelled, is_storage, last_read) = (None, false, false, None);
            Block { account, scope, size, event: 0, op_call: 0, followed_since, labelled, is_storage, last_read }
        })
    }

    /// The block at `address`, if one is followed there, was read in `scope`.
    pub fn read(&mut self, scope: ScopeId, address: u64, at: Moment) {
        self.reads.told(at);
        if let Some(block) = self.live.get_mut(&address) {
            let reads = block.last_read.map_or(0, |read| read.reads) + 1;
            block.last_read = Some(LastRead { event: at.event, time_ns: at.time_ns, scope, reads });
        }
        if self.reads.prompt.has_many_points() {
            let reads = self.live.values().filter_map(|block| Some(block.last_read?.event)).collect();
            self.reads.prompt.join(reads);
        }
    }

    /// Gives `look` each live block of which it is told when it is read.
    pub fn for_each_storage(&self, owners: &Owners, mut look: impl FnMut(PeakBlock)) {
        let known = |block: &Block| block.of_peak(owners.accounts.get(block.account).category);
        self.live.values().filter_map(known).for_each(&mut look);
    }

    /// A block is about to change its size.
    pub fn resize_began(&mut self, owners: &mut Owners, described: EventBlock, token: u64) {
        let block = self.take(owners, described);
        self.resizing.insert(token, block);
    }

    /// It has a new size, and perhaps a new address; without an address it is no longer followed.
    pub fn resize_ended(
        &mut self,
        owners: &mut Owners,
        token: u64,
        address: Option<u64>,
        size: BlockSize,
        at: Moment,
        totals: &mut impl FnMut(ScopeId, Counts),
    ) {
        let Some(block) = self.resizing.remove(&token) else { return };
        let Some(address) = address else {
            totals(block.scope, -Counts::take_over(block.size));
            if block.followed_since.is_some() {
                self.sums.ended(owners.accounts.get_mut(block.account), block.amount());
            }
            return owners.change(block.account, -block.amount(), at);
        };
        totals(block.scope, Counts::resize(block.size, size));
        let change = Amount::resize(block.size, size);
        if block.followed_since.is_some() {
            self.sums.resized(owners.accounts.get_mut(block.account), block.amount(), change);
            owners.note_block(block.account, size.usable);
        }
        owners.change(block.account, change, at);
        if block.is_storage {
            self.devices.allocated(address, size.requested);
        }
        self.live.insert(address, Block { size, event: at.event, ..block });
    }

    /// The block at `address`, if one is followed there, is of this category and owned by `scope`, and was at the peaks.
    pub fn labelled(
        &mut self,
        owners: &mut Owners,
        scope: ScopeId,
        address: u64,
        category: Category,
        at: Moment,
        totals: &mut impl FnMut(ScopeId, Counts),
    ) {
        let Some(block) = self.live.get_mut(&address) else { return };
        let before = owners.accounts.get(block.account).category;
        let category = if block.labelled { category.after(before) } else { category };
        let account = owners.account(scope, Some(category));
        block.labelled = true;
        if scope != block.scope {
            // Counted for its new owner, and no more for the scope that allocated it.
            totals(block.scope, -Counts::take_over(block.size));
            totals(scope, Counts::take_over(block.size));
            block.scope = scope;
        }
        if account != block.account {
            let accounts = [block.account, account];
            owners.transfer_at_peaks(accounts, block.amount(), block.event);
            owners.transfer(accounts, block.amount(), at);
            if block.followed_since.is_some() {
                self.sums.moved(&mut owners.accounts, accounts, block.amount());
                owners.note_block(account, block.size.usable);
            }
            block.account = account;
        }
    }
}
