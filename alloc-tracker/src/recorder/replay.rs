//! Replays the events: which blocks live, who owns them, what was the most.
use std::collections::HashMap;

use alloc_timeline::{Category, Dimension, Record};

use super::account::{Account, Amount, HighWater, SPANS, Span};
use crate::event::{Event, Kind};
use crate::ledger::publish;
use crate::ledger::totals::{self, Counts};
use crate::tag::scope::{self, ScopeId, TRACKER};

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
    /// Said by somebody who knows, not derived: it stays.
    labelled: bool,
}

/// The sum of all accounts of one phase, layer, op or category, and its own peak.
#[derive(Clone, Debug)]
pub struct Group {
    pub dimension: Dimension,
    pub name: u32,
    pub live: i64,
    pub high: i64,
    pub high_time_ns: u64,
    pub high_process: i64,
}

/// See the module's description. Between events: the accounts' live amounts sum to `live`.
#[derive(Debug, Default)]
pub struct Replay {
    pub(super) accounts: Vec<Account>,
    index: HashMap<(ScopeId, Category), u32>,
    pub(super) groups: Vec<Group>,
    group_index: HashMap<(Dimension, u32), u32>,
    blocks: HashMap<u64, Block>,
    moving: HashMap<u64, Block>,
    pub(super) live: i64,
    pub(super) highs: [HighWater; 2],
    /// The most live bytes since the last sample.
    pub(super) interval_high: i64,
    step: Option<(u64, u64)>,
    steps: u64,
    /// Whether blocks of the peak were given another owner or category since this was last set to false.
    pub(super) peak_amended: bool,
    /// Marks and steps that wait for the recorder's thread.
    pub(super) records: Vec<Record>,
    pub(super) last_time_ns: u64,
}

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
        let mut held: HashMap<ScopeId, Amount> = HashMap::new();
        for account in &self.accounts {
            held.entry(account.scope).or_default().add(account.live());
        }
        for scope in (0..scope::count() as ScopeId).filter(|&scope| scope != TRACKER) {
            let mut missing = amount_of(&counts(scope));
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
            Kind::Labelled => self.labelled(event),
            Kind::Mark => self.mark(event, time_ns),
            Kind::Step => self.step(event.a == 1, number, time_ns),
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
        let block = Block { account, scope: event.scope, amount, event: number, call: event.d, labelled: false };
        if let Some(ghost) = self.blocks.insert(event.a, block) {
            // Its free was dropped: it cannot live at an address that was given out again.
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
        if block.call != 0 && block.call == event.d && !block.labelled {
            let workspace = self.account(block.scope, Category::Workspace);
            self.move_past(&block, workspace);
        }
        self.change_account(block.account, block.amount.negated(), number, time_ns);
    }

    /// A block of before this recording, which the totals count by its scope alone.
    fn stranger(&mut self, event: &Event) -> Block {
        let account = self.account(event.scope, base_category(event.scope));
        let amount = Amount { usable: event.b as i64, requested: event.c as i64, blocks: 1 };
        Block { account, scope: event.scope, amount, event: 0, call: 0, labelled: false }
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
        self.change_account(block.account, Amount { usable, requested, blocks: 0 }, number, time_ns);
        block.amount.add(Amount { usable, requested, blocks: 0 });
        block.event = number;
        self.blocks.insert(event.a, block);
    }

    fn labelled(&mut self, event: &Event) {
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
            // No total changes here, so this can be no new peak.
            let (from, to, highs) = (block.account as usize, account as usize, self.highs);
            self.accounts[from].change(block.amount.negated(), &highs);
            self.accounts[to].change(block.amount, &highs);
            for (sign, account) in [(-1, from), (1, to)] {
                for group in self.accounts[account].groups {
                    self.groups[group as usize].live += sign * block.amount.usable;
                }
            }
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
        let names = [parts.phase, parts.layer, parts.op, category as u32];
        let mut groups = [0; 4];
        for ((group, dimension), name) in groups.iter_mut().zip(Dimension::ALL).zip(names) {
            *group = *self.group_index.entry((dimension, name)).or_insert_with(|| {
                let fresh = Group { dimension, name, live: 0, high: 0, high_time_ns: 0, high_process: 0 };
                self.groups.push(fresh);
                (self.groups.len() - 1) as u32
            });
        }
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

    fn change_account(&mut self, account: u32, amount: Amount, number: u64, time_ns: u64) {
        let account = &mut self.accounts[account as usize];
        account.change(amount, &self.highs);
        self.live += amount.usable;
        for group in account.groups {
            let group = &mut self.groups[group as usize];
            group.live += amount.usable;
            if group.live >= group.high {
                (group.high, group.high_time_ns, group.high_process) = (group.live, time_ns, self.live);
            }
        }
        self.interval_high = self.interval_high.max(self.live);
        for high in &mut self.highs {
            if self.live >= high.usable {
                *high = HighWater { usable: self.live, time_ns, event: number, epoch: high.epoch + 1 };
            }
        }
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
            self.records.push(Record::Step(step));
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
