//! Replays the events: which blocks live, who owns them, what was the most.
mod blocks;
mod groups;

use alloc_timeline::{Category, Dimension, Record};
use rustc_hash::FxHashMap;

use super::account::{Account, Amount, HighWater, RequestedHigh, Span};
use super::group::{Alive, Group, Key};
use super::growth::History;
use super::known::Known;
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
