//! Replays the events: which blocks live, who owns them, what was the most.
mod groups;

use alloc_timeline::{Category, Dimension, Fate, Record};
use rustc_hash::FxHashMap;

use super::account::{Account, Amount, HighWater, RequestedHigh, SPANS, Span};
use super::group::{Alive, Group, Key};
use super::growth::History;
use super::known::Known;
use super::ownership::Way;
use super::sites::Sites;
use crate::event::{Event, Kind};
use crate::ledger::publish;
use crate::ledger::totals::{self, Counts};
use crate::tag::scope::{self, NameId, ScopeId, TRACKER};

/// A block that is known by its address.
#[derive(Clone, Copy, Debug)]
struct Block {
    account: u32,
    scope: ScopeId,
    amount: Amount,
    /// Number of the event that made it or last changed its size.
    event: u64,
    /// The operator call that made it; 0 for none.
    call: u64,
    /// When it was made; 0 for a block of before this recording.
    born_ns: u64,
    /// How many steps had begun then.
    step: u64,
    /// Said by somebody who knows, not derived: it stays.
    labelled: bool,
}

/// See the module's description. Between events: the accounts' live amounts sum to `live`.
#[derive(Debug, Default)]
pub struct Replay {
    pub(super) accounts: Vec<Account>,
    index: FxHashMap<(ScopeId, Category), u32>,
    /// The accounts that are stale.
    pub(super) stale: Vec<u32>,
    /// Usable and requested bytes of all in the samples so far.
    pub(super) sampled: (u64, u64),
    pub(super) groups: Vec<Group>,
    group_index: FxHashMap<Key, u32>,
    /// The phases in the order in which they were seen, and how often each has been left.
    pub(super) phases: Vec<(NameId, u64)>,
    /// The layer in a phase that each scope is of.
    cells: Vec<Option<u32>>,
    blocks: FxHashMap<u64, Block>,
    moving: FxHashMap<u64, Block>,
    pub(super) known: Known,
    pub(super) live: i64,
    pub(super) alive: Alive,
    pub(super) highs: [HighWater; 2],
    /// All that is live.
    asked: Amount,
    pub(super) requested_high: RequestedHigh,
    /// The most live bytes since the last sample.
    pub(super) interval_high: i64,
    /// The most live bytes since thresholds were looked at.
    pub(super) watched_high: i64,
    /// The least.
    pub(super) watched_low: i64,
    pub(super) step: Option<(u64, u64)>,
    pub(super) steps: u64,
    /// How many steps have ended.
    pub(super) step_ends: u64,
    /// Between `pause` and `resume`: no instant counts as a peak.
    pub(super) paused: bool,
    /// The most live bytes of the step that ended last.
    pub(super) last_step_peak: Option<i64>,
    /// Whether blocks of the peak were given another owner or category since this was last set to false.
    pub(super) peak_amended: bool,
    /// Marks and steps that wait for the recorder's thread.
    pub(super) records: Vec<Record>,
    pub(super) last_time_ns: u64,
    pub(super) history: History,
    /// Who allocates, by stack.
    pub(super) sites: Sites,
}

/// The place of the group of a layer in a phase among an account's groups.
pub const CELL: usize = 4;

impl Replay {
    /// A replay that has seen nothing.
    pub fn new(time_ns: u64) -> Self {
        let highs = [HighWater { epoch: 1, ..HighWater::default() }; 2];
        Replay { last_time_ns: time_ns, highs, ..Replay::default() }
    }

    /// Makes the accounts of every scope hold what `counts` says is live. The difference, which is known by scope only,
    /// goes to the scope's base category: at the beginning what was allocated before, at the end what threads have not
    /// published, or published past the ring.
    pub fn square(&mut self, counts: impl Fn(ScopeId) -> Counts, number: u64, time_ns: u64) {
        let mut held: FxHashMap<ScopeId, Amount> = FxHashMap::default();
        for account in &self.accounts {
            held.entry(account.scope).or_default().add(account.live());
        }
        for scope in (0..scope::count() as ScopeId).filter(|&scope| scope != TRACKER) {
            let counts = counts(scope);
            if number == 0 {
                self.known.gone_before(&counts);
            }
            let mut missing = amount_of(&counts);
            missing.add(held.get(&scope).copied().unwrap_or_default().negated());
            if missing != Amount::default() {
                self.change(scope, base_category(scope), missing, number, time_ns);
            }
        }
    }

    /// Takes in one event; `number` is its place in the order.
    pub fn apply(&mut self, number: u64, event: &Event) {
        if event.time_ns != 0 {
            self.last_time_ns = self.last_time_ns.max(event.time_ns);
        }
        let time_ns = self.last_time_ns;
        match event.kind {
            Kind::Nothing => {}
            Kind::Delta => {
                let counts = publish::counts_of(event);
                totals::of(event.scope).add(&counts);
                self.change(event.scope, base_category(event.scope), amount_of(&counts), number, time_ns);
            }
            Kind::Allocated | Kind::Adopted => self.allocated(number, event, time_ns),
            Kind::Freed => self.freed(number, event, time_ns),
            Kind::Taken => {
                let block = self.blocks.remove(&event.a).unwrap_or_else(|| self.stranger(event));
                self.moving.insert(event.e, block);
            }
            Kind::Put => self.put(number, event, time_ns),
            Kind::Labelled => self.labelled(event, time_ns),
            Kind::Mark => self.mark(event, time_ns),
            Kind::Step => self.step(event.a == 1, number, time_ns),
            Kind::Left => self.left(event.a as NameId),
            Kind::Paused => self.pause(event.a == 1, time_ns),
            Kind::Sampled | Kind::SampleFreed | Kind::SampleTaken | Kind::SamplePut => {
                self.sites.apply(event, &self.highs);
            }
        }
    }

    fn allocated(&mut self, number: u64, event: &Event, time_ns: u64) {
        let amount = Amount { usable: event.b as i64, requested: event.c as i64, blocks: 1 };
        let fresh = u64::from(event.kind == Kind::Allocated);
        let counts = Counts {
            allocated: event.b,
            requested: event.c,
            allocations: fresh,
            moved_in: 1 - fresh,
            ..Counts::default()
        };
        totals::of(event.scope).add(&counts);
        let category = if event.e == 1 { storage_category(event.scope) } else { base_category(event.scope) };
        let account = self.change(event.scope, category, amount, number, time_ns);
        let (born_ns, step) = (time_ns.max(1), self.steps);
        let scope = event.scope;
        let block = Block { account, scope, amount, event: number, call: event.d, born_ns, step, labelled: false };
        self.known.made(&mut self.accounts[account as usize], amount);
        self.enlarge(account, amount.usable);
        if let Some(ghost) = self.blocks.insert(event.a, block) {
            // Its free was dropped: it cannot live at an address that was given out again.
            self.died(&ghost, None, false, time_ns);
            self.change_account(ghost.account, ghost.amount.negated(), number, time_ns);
        }
    }

    fn freed(&mut self, number: u64, event: &Event, time_ns: u64) {
        let block = self.blocks.remove(&event.a).unwrap_or_else(|| self.stranger(event));
        let counts = Counts {
            freed: block.amount.usable as u64,
            requested_freed: block.amount.requested as u64,
            frees: 1,
            ..Counts::default()
        };
        totals::of(block.scope).add(&counts);
        let is_workspace = block.call != 0 && block.call == event.d && !block.labelled;
        let to = (event.e > 0).then(|| self.cell_of((event.e - 1) as ScopeId));
        self.died(&block, to, is_workspace, time_ns);
        if is_workspace {
            let workspace = self.account(block.scope, Category::Workspace);
            self.move_past(&block, workspace);
        }
        self.change_account(block.account, block.amount.negated(), number, time_ns);
    }

    /// Notes what became of a block that is freed in the layer and phase `to`.
    fn died(&mut self, block: &Block, to: Option<u32>, is_workspace: bool, time_ns: u64) {
        if block.born_ns == 0 {
            return;
        }
        let account = &mut self.accounts[block.account as usize];
        let from = account.groups[CELL];
        let category = if is_workspace { Category::Workspace } else { account.category };
        let fate = if to == Some(from) && block.step == self.steps { Fate::Temporary } else { Fate::Freed };
        let lifetime_ns = time_ns.saturating_sub(block.born_ns);
        self.known.died(account, block.amount, Way { from, to, fate, category }, lifetime_ns);
    }

    /// A block of before this recording, which the totals count by its scope alone.
    fn stranger(&mut self, event: &Event) -> Block {
        let account = self.account(event.scope, base_category(event.scope));
        let amount = Amount { usable: event.b as i64, requested: event.c as i64, blocks: 1 };
        Block { account, scope: event.scope, amount, event: 0, call: 0, born_ns: 0, step: 0, labelled: false }
    }

    fn put(&mut self, number: u64, event: &Event, time_ns: u64) {
        let Some(mut block) = self.moving.remove(&event.e) else { return };
        if event.a == 0 {
            // It went on in the small lane, which counts it there.
            let (allocated, requested) = (block.amount.usable as u64, block.amount.requested as u64);
            let gone = Counts {
                allocated: allocated.wrapping_neg(),
                requested: requested.wrapping_neg(),
                moved_in: 1u64.wrapping_neg(),
                ..Counts::default()
            };
            totals::of(block.scope).add(&gone);
            if block.born_ns != 0 {
                self.known.lost(&mut self.accounts[block.account as usize], block.amount);
            }
            return self.change_account(block.account, block.amount.negated(), number, time_ns);
        }
        let usable = event.b as i64 - block.amount.usable;
        let requested = event.c as i64 - block.amount.requested;
        let counts = Counts {
            allocated: usable.max(0) as u64,
            freed: (-usable).max(0) as u64,
            requested: requested.max(0) as u64,
            requested_freed: (-requested).max(0) as u64,
            ..Counts::default()
        };
        totals::of(block.scope).add(&counts);
        let change = Amount { usable, requested, blocks: 0 };
        if block.born_ns != 0 {
            self.known.resized(&mut self.accounts[block.account as usize], block.amount, change);
            self.enlarge(block.account, event.b as i64);
        }
        self.change_account(block.account, change, number, time_ns);
        block.amount.add(change);
        block.event = number;
        self.blocks.insert(event.a, block);
    }

    fn labelled(&mut self, event: &Event, time_ns: u64) {
        let category = Category::ALL.get(event.b as usize).copied().unwrap_or(Category::Other);
        let Some(mut block) = self.blocks.get(&event.a).copied() else { return };
        let account = self.account(event.scope, category);
        block.labelled = true;
        if event.scope != block.scope {
            self.hand_over(&block, event.scope);
            block.scope = event.scope;
        }
        if account != block.account {
            self.move_past(&block, account);
            // No total changes here, so this can be no new peak of the process; it can be one of the new owner.
            self.change_live(block.account, block.amount.negated());
            self.change_live(account, block.amount);
            if block.born_ns != 0 {
                let (from, to) = (block.account as usize, account as usize);
                self.known.moved(&mut self.accounts, from, to, block.amount);
                self.enlarge(account, block.amount.usable);
            }
            self.change_groups(block.account, block.amount.negated());
            self.change_groups(account, block.amount);
            self.raise_groups(account, 1, time_ns);
            block.account = account;
        }
        self.blocks.insert(event.a, block);
    }

    /// Counts `block` for `scope`, which owns it from now on, and no more for the scope that allocated it.
    fn hand_over(&mut self, block: &Block, scope: ScopeId) {
        let (allocated, requested) = (block.amount.usable as u64, block.amount.requested as u64);
        let given = Counts { allocated, requested, moved_in: 1, ..Counts::default() };
        let taken = Counts {
            allocated: allocated.wrapping_neg(),
            requested: requested.wrapping_neg(),
            moved_in: 1u64.wrapping_neg(),
            ..Counts::default()
        };
        totals::of(block.scope).add(&taken);
        totals::of(scope).add(&given);
    }

    /// Moves `block` to `account` in those peaks at which it was live and as large as now.
    fn move_past(&mut self, block: &Block, account: u32) {
        for span in SPANS {
            let high = self.highs[span as usize];
            if block.event <= high.event {
                self.peak_amended |= span == Span::Session;
                self.accounts[block.account as usize].change_past(span, block.amount.negated(), &high);
                self.accounts[account as usize].change_past(span, block.amount, &high);
            }
        }
    }

    /// The account of `scope` and `category`, made when there is none.
    fn account(&mut self, scope: ScopeId, category: Category) -> u32 {
        if let Some(&account) = self.index.get(&(scope, category)) {
            return account;
        }
        let parts = scope::parts(scope);
        let phase = self.phase(parts.phase);
        let names = [parts.phase, parts.layer, parts.op, category as u32];
        let mut groups = [0; 5];
        for ((group, dimension), name) in groups.iter_mut().zip(Dimension::ALL).zip(names) {
            let phase = (dimension == Dimension::Phase).then_some(phase);
            *group = self.group(Key::Named(dimension, name), phase);
        }
        groups[CELL] = self.cell_of(scope);
        let number = self.accounts.len() as u32;
        self.accounts.push(Account::new(scope, category, groups));
        self.index.insert((scope, category), number);
        number
    }

    fn change(&mut self, scope: ScopeId, category: Category, amount: Amount, number: u64, time_ns: u64) -> u32 {
        let account = self.account(scope, category);
        self.change_account(account, amount, number, time_ns);
        account
    }

    fn change_live(&mut self, account: u32, amount: Amount) {
        let changed = &mut self.accounts[account as usize];
        changed.change(amount, &self.highs);
        if !std::mem::replace(&mut changed.stale, true) {
            self.stale.push(account);
        }
    }

    fn change_account(&mut self, account: u32, amount: Amount, number: u64, time_ns: u64) {
        self.change_live(account, amount);
        self.live += amount.usable;
        self.asked.add(amount);
        self.watched_low = self.watched_low.min(self.live);
        self.change_groups(account, amount);
        if self.paused {
            return;
        }
        self.raise_groups(account, 0, time_ns);
        if self.asked.requested >= self.requested_high.requested {
            let Amount { requested, blocks, .. } = self.asked;
            self.requested_high = RequestedHigh { requested, blocks, time_ns };
        }
        self.interval_high = self.interval_high.max(self.live);
        self.watched_high = self.watched_high.max(self.live);
        for high in &mut self.highs {
            if self.live >= high.usable {
                *high = HighWater { usable: self.live, time_ns, event: number, epoch: high.epoch + 1 };
            }
        }
    }

    /// Pauses or resumes, and says so in the list of marks.
    fn pause(&mut self, paused: bool, time_ns: u64) {
        if self.paused == paused {
            return;
        }
        self.paused = paused;
        if !paused {
            (self.interval_high, self.watched_high) = (self.live, self.live);
        }
        let name = if paused { "paused" } else { "resumed" }.to_owned();
        let live_bytes = self.live.max(0) as u64;
        self.records.push(Record::Mark(alloc_timeline::Mark { time_ns, name, live_bytes, snapshot: None }));
    }

    fn mark(&mut self, event: &Event, time_ns: u64) {
        let snapshot = (event.b == 1).then(|| self.snapshot_now(time_ns));
        let live_bytes = snapshot.as_ref().map_or(self.live.max(0) as u64, |snapshot| snapshot.live_bytes);
        let name = scope::text(event.a as u32).to_owned();
        self.records.push(Record::Mark(alloc_timeline::Mark { time_ns, name, live_bytes, snapshot }));
    }

    fn step(&mut self, begins: bool, number: u64, time_ns: u64) {
        if let Some((index, start_ns)) = self.step.take() {
            let step = self.step_record(index, start_ns, time_ns);
            self.last_step_peak = Some(self.highs[Span::Step as usize].usable);
            self.records.push(Record::Step(step));
            self.step_ends += 1;
            self.history.step_ended(index, self.accounts.iter().map(|account| account.live().usable));
            self.sites.step_ended(index);
        }
        if begins {
            self.steps += 1;
            self.step = Some((self.steps, time_ns));
            let epoch = self.highs[Span::Step as usize].epoch + 1;
            self.highs[Span::Step as usize] = HighWater { usable: self.live, time_ns, event: number, epoch };
        }
    }
}

fn amount_of(counts: &Counts) -> Amount {
    Amount { usable: counts.live(), requested: counts.live_requested(), blocks: counts.live_blocks() }
}

/// What a block is for when nothing but its scope is known.
pub fn base_category(scope: ScopeId) -> Category {
    match scope {
        scope::RUNTIME => Category::Runtime,
        scope if scope::parts(scope).op != 0 => Category::Metadata,
        _ => Category::Other,
    }
}

/// What a tensor's storage is for, by the phase and the operator that made it.
fn storage_category(scope: ScopeId) -> Category {
    let parts = scope::parts(scope);
    match (scope::text(parts.phase), scope::text(parts.op)) {
        (_, "torch::autograd::AccumulateGrad") => Category::Gradient,
        ("data", _) => Category::Input,
        ("optimizer", _) => Category::OptimizerState,
        ("init" | "runtime", _) => Category::Other,
        _ => Category::Activation,
    }
}
