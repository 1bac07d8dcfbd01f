//! The replay: takes in events, one by one, and hands each to the parts that it concerns.
use alloc_timeline::{Mark, Record};
use rustc_hash::FxHashMap;

use crate::accounts::Account;
use crate::amount::{Amount, positive};
use crate::blocks::{Blocks, EventBlock};
use crate::caching_allocator::SettingsError;
use crate::counts::Counts;
use crate::device_blocks::DeviceBlocks;
use crate::event::Event;
use crate::growth::StepHistory;
use crate::high_water::{Moment, Span};
use crate::new_blocks::NewBlocks;
use crate::owners::Owners;
use crate::records::rows;
use crate::scope::{NameId, ScopeId, ScopeNames, TRACKER};
use crate::sites::Sites;
use crate::steps::Steps;

/// Who owns what, now and at the peaks, after the events so far. Times are those of the caller's clock, in nanoseconds.
///
/// The live bytes of a replay are those of the program: the tracker's own memory, that of the scope
/// [`TRACKER`], has no events.
#[derive(Debug)]
pub struct Replay {
    pub(crate) owners: Owners,
    pub(crate) blocks: Blocks,
    /// The blocks of devices.
    pub(crate) device_blocks: DeviceBlocks,
    pub(crate) steps: Steps,
    /// What the accounts held at the end of each step.
    pub(crate) growth: StepHistory,
    /// Who allocates, by stack.
    pub(crate) sites: Sites,
    /// Marks and steps that wait to be written.
    pub(crate) records: Vec<Record>,
    /// Where the program has allocated since somebody asked.
    pub(crate) new_blocks: NewBlocks,
    /// No event is earlier than one before it.
    latest_ns: u64,
}

impl Replay {
    /// A replay of a recording that began at `start_ns`, in which nothing is live yet. `names` says what scope and name
    /// numbers stand for; it is asked for the names of a scope when that is first seen.
    pub fn new(start_ns: u64, names: impl ScopeNames + Send + 'static) -> Self {
        let owners = Owners::new(Box::new(names));
        let (blocks, device_blocks, steps, growth, sites, records, new_blocks) = Default::default();
        Replay { owners, blocks, device_blocks, steps, growth, sites, records, new_blocks, latest_ns: start_ns }
    }

    /// Also models a device's memory with these settings of PyTorch's caching allocator, from the next storage on. The
    /// defaults and `expandable_segments:True` are always modelled.
    ///
    /// # Errors
    /// When a value in `settings` is not what its key wants.
    pub fn model_device(&mut self, settings: &str) -> Result<(), SettingsError> {
        self.blocks.devices.model(settings)
    }

    /// What scope and name numbers stand for.
    pub fn names(&self) -> &dyn ScopeNames {
        self.owners.names()
    }

    /// Before the first event: takes in what was allocated before the recording. `counts` is what a scope has done so far.
    pub fn reconcile_at_start(&mut self, counts: impl Fn(ScopeId) -> Counts, time_ns: u64) {
        let mut before = Counts::default();
        let noted = |scope| {
            let counts = counts(scope);
            before += counts;
            counts
        };
        self.reconcile(noted, 0, time_ns);
        self.blocks.sums.before += before;
    }

    /// After the last event: takes in blocks that were in no event. Threads had not published them yet, or had counted them
    /// for their scopes directly. `counts` is what a scope has done since the process began.
    pub fn reconcile_at_end(&mut self, counts: impl Fn(ScopeId) -> Counts, time_ns: u64) {
        self.reconcile(counts, u64::MAX, time_ns);
    }

    /// Makes the accounts of every scope hold what `counts` says is live. The difference is known by scope only; it goes
    /// to the scope's base category.
    fn reconcile(&mut self, mut counts: impl FnMut(ScopeId) -> Counts, number: u64, time_ns: u64) {
        let mut held: FxHashMap<ScopeId, Amount> = FxHashMap::default();
        for account in self.owners.accounts.all() {
            *held.entry(account.scope).or_default() += account.live();
        }
        let at = Moment { event: number, time_ns, step: self.steps.begun() };
        let missing = |scope| {
            let mut missing = Amount::live(&counts(scope));
            missing += -held.get(&scope).copied().unwrap_or_default();
            (scope, missing)
        };
        let mut missing: Vec<(ScopeId, Amount)> = program_scopes(self.names()).map(missing).collect();
        missing.retain(|(_, amount)| *amount != Amount::default());
        // What was freed first: all of this is at one instant, and half of it is no peak.
        missing.sort_by_key(|(_, amount)| amount.usable);
        for (scope, missing) in missing {
            let account = self.owners.account(scope, None);
            self.owners.change(account, missing, at);
        }
        self.reach(at);
    }

    /// After an event: the prompt peak may be now. What only a pause allocated is no peak yet when the pause ends.
    fn reach(&mut self, at: Moment) {
        let peaks = &self.owners.peaks;
        let live = peaks.live().usable;
        if !peaks.is_paused() && live <= peaks.marks().of(Span::Session).usable {
            self.blocks.reads.prompt.reach(live, at);
        }
    }

    /// Takes in one event. `number` is its place in the order, and never falls. `time_ns` is when it was; 0: the event
    /// has no time of its own, and is as late as the latest before it.
    ///
    /// `totals` gets what the event adds to the counts of a scope. A caller that keeps the counts of all scopes adds it
    /// there; for other callers `|_, _| ()` will do.
    pub fn apply(&mut self, number: u64, time_ns: u64, event: &Event, mut totals: impl FnMut(ScopeId, Counts)) {
        // A time of 0 is never the later one.
        self.latest_ns = self.latest_ns.max(time_ns);
        let at = Moment { event: number, time_ns: self.latest_ns, step: self.steps.begun() };
        self.new_blocks.note(event);
        let (owners, blocks) = (&mut self.owners, &mut self.blocks);
        match *event {
            Event::Batch { scope, counts } => {
                totals(scope, counts);
                let account = owners.account(scope, None);
                owners.change(account, Amount::live(&counts), at);
            }
            Event::Allocated { scope, address, size, op_call, category } => {
                totals(scope, Counts::allocation(size));
                blocks.began(owners, EventBlock { scope, address, size, op_call }, category, at);
            }
            Event::Adopted { scope, address, size, op_call, category } => {
                totals(scope, Counts::take_over(size));
                blocks.began(owners, EventBlock { scope, address, size, op_call }, category, at);
            }
            Event::Freed { scope, address, size, op_call, freed_in } => {
                blocks.freed(owners, EventBlock { scope, address, size, op_call }, freed_in, at, &mut totals);
            }
            Event::ResizeBegan { scope, address, size, token } => {
                blocks.resize_began(owners, EventBlock { scope, address, size, op_call: 0 }, token);
            }
            Event::ResizeEnded { address, size, token } => {
                blocks.resize_ended(owners, token, address, size, at, &mut totals);
            }
            Event::Labelled { scope, address, category } => {
                blocks.labelled(owners, scope, address, category, at, &mut totals);
            }
            Event::Read { scope, addresses } => {
                addresses.iter().filter(|&&address| address != 0).for_each(|&address| blocks.read(scope, address, at));
            }
            Event::Mark { name, with_owners } => self.mark(name, with_owners, at),
            Event::StepBegan => {
                self.steps.withdraw_derived();
                self.begin_step(at, false);
            }
            Event::DerivedStepBegan => self.begin_step(at, true),
            Event::StepEnded => self.end_step(at),
            Event::PhaseLeft { phase } => owners.groups.phase_left(phase),
            Event::Paused => self.pause(true, at),
            Event::Resumed => self.pause(false, at),
            Event::Sampled { .. }
            | Event::ThreadEnded { .. }
            | Event::SampleFreed { .. }
            | Event::SampleResizeBegan { .. }
            | Event::SampleResizeEnded { .. } => self.sites.apply(event, owners.peaks.marks()),
            Event::DeviceAllocated { .. } | Event::DeviceFreed { .. } | Event::DeviceLabelled { .. } => {
                self.device_blocks.apply(event, at, owners.peaks.is_paused());
            }
            Event::DeviceOutOfMemory { device, bytes, .. } => self.out_of_memory(device, bytes, at),
        }
        self.reach(at);
    }

    fn mark(&mut self, name: NameId, with_owners: bool, at: Moment) {
        // The slack is filled in when the mark is taken to be written.
        let snapshot = with_owners.then(|| rows::snapshot(&self.owners.accounts, Account::live, at.time_ns, 0));
        let live_bytes = snapshot.as_ref().map_or_else(|| self.live_bytes(), |snapshot| snapshot.live_bytes);
        let name = self.names().text(name).to_owned();
        self.records.push(Record::Mark(Mark { time_ns: at.time_ns, name, live_bytes, snapshot }));
    }

    /// Pauses or resumes, and says so in the list of marks.
    fn pause(&mut self, paused: bool, at: Moment) {
        if self.owners.peaks.pause(paused) {
            let name = if paused { "paused" } else { "resumed" }.to_owned();
            let live_bytes = self.live_bytes();
            self.records.push(Record::Mark(Mark { time_ns: at.time_ns, name, live_bytes, snapshot: None }));
        }
    }

    /// Notes in the list of marks that a device had no room.
    fn out_of_memory(&mut self, device: NameId, bytes: u64, at: Moment) {
        let name = format!("{} has no room for {bytes} bytes", self.names().text(device));
        let live_bytes = self.live_bytes();
        self.records.push(Record::Mark(Mark { time_ns: at.time_ns, name, live_bytes, snapshot: None }));
    }

    fn begin_step(&mut self, at: Moment, is_derived: bool) {
        self.end_step(at);
        self.steps.begin(at.time_ns, is_derived);
        self.owners.peaks.step_began(at);
    }

    fn end_step(&mut self, at: Moment) {
        let Owners { accounts, groups, peaks, .. } = &mut self.owners;
        let marks = peaks.marks();
        let Some(step) = self.steps.end(marks.of(Span::Step).usable) else { return };
        self.records.push(Record::Step(rows::step(accounts, marks, step, at.time_ns)));
        groups.step_ended();
        self.growth.step_ended(step.index, accounts.all().iter().map(|account| account.live().usable));
        self.sites.step_ended(step.index);
    }

    /// Usable bytes not yet freed.
    pub fn live_bytes(&self) -> u64 {
        positive(self.owners.peaks.live().usable)
    }

    /// Whether the program has paused the recording.
    pub fn is_paused(&self) -> bool {
        self.owners.peaks.is_paused()
    }
}

/// All scopes but the tracker's own.
fn program_scopes(names: &dyn ScopeNames) -> impl Iterator<Item = ScopeId> + use<> {
    (0..names.scope_count()).map(|scope| scope as ScopeId).filter(|&scope| scope != TRACKER)
}
