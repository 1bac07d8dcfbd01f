//! The fastest schedules in budgets of bytes, for stages that each have costs of their own: rotor's dynamic programme
//! (Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova, "Optimal checkpointing for heterogeneous chains: how to train deep
//! neural networks with limited memory", arXiv 1911.13214, 2019) over *persistent* schedules: what is kept stays until the
//! backward pass has used it, a saved stage keeps its map too, and no stage is run again before all that is kept behind it has
//! been run backward. Since the gradients of parameters grow in the backward pass, a schedule that breaks the last two rules
//! can take fewer bytes: two tests in `tests/persistent.rs` show how.
//!
//! T(s, t, m) is the least time in which the stages s to t are run forward and backward, when what stage s reads is there,
//! the gradient of what stage t leaves is there, and m more bytes may be used. The first stage keeps either all or what it
//! read:
//!
//! ```text
//! all     f(s) + T(s+1, t, m - saved and output of s) + b(s)
//! input   f(s) + ... + f(k-1) + T(k, t, m - output of k-1) + T(s, k-1, m)     for the best k in s+1 ..= t
//! ```
//!
//! each only if its operations fit into m. Two things go beyond the paper: the gradients of the parameters of all stages behind t are
//! live when s to t is run, so they come off m; and a peak inside of an operation is what was measured of it.
//!
//! Bytes are counted in units, rounded up, so that what fits in units fits in bytes. The converse does not hold. So a
//! schedule is made for each number of units, the simulator says to the byte what it takes, and a budget gets the fastest of
//! all those that fit. The units do not depend on the budget: more bytes never take longer.
use crate::chain::Chain;
use crate::schedule::{Keep, Operation, Schedule};
use crate::simulate::{Simulated, simulate};
use crate::whole::whole;

/// What cannot be done.
const NEVER: u64 = u64::MAX;

/// The schedules of a chain for all budgets.
#[derive(Clone, Debug)]
pub struct Persistent {
    /// The fastest first; each takes fewer bytes than the one before.
    schedules: Vec<(Schedule, Simulated)>,
}

impl Persistent {
    /// Makes the schedules, with so many units for all that a step without checkpoints takes above what is there throughout.
    ///
    /// Takes time with the cube of the number of stages, times `units`, and memory with the square: 50 stages and 1,000 units a
    /// tenth of a second and 10 MB.
    ///
    /// # Panics
    /// When the chain has no stage, or `units` is 0.
    pub fn new(chain: &Chain, units: usize) -> Persistent {
        let whole = whole(chain.stages.len());
        let simulated = simulate(chain, &whole).unwrap_or_else(|invalid| unreachable!("nothing is let go: {invalid}"));
        let unit = (simulated.peak_bytes - chain.fixed_bytes).div_ceil(units as u64).max(1);
        let mut all = vec![(whole, simulated)];
        let table = Table::new(chain, unit, units);
        let last = chain.stages.len() - 1;
        let mut fastest = NEVER;
        for budget in 0..=units {
            let ns = table.least_ns(0, last, budget);
            // More units that make nothing faster give a schedule that takes more bytes, or the same.
            if ns < fastest {
                fastest = ns;
                let mut schedule = Schedule::default();
                table.write(&mut schedule, 0, last, budget);
                let simulated =
                    simulate(chain, &schedule).unwrap_or_else(|invalid| unreachable!("{schedule}: {invalid}"));
                all.push((schedule, simulated));
            }
        }
        all.sort_by_key(|(_, simulated)| (simulated.ns, simulated.peak_bytes));
        let mut schedules: Vec<(Schedule, Simulated)> = Vec::new();
        for (schedule, simulated) in all {
            if schedules.last().is_none_or(|(_, slower)| simulated.peak_bytes < slower.peak_bytes) {
                schedules.push((schedule, simulated));
            }
        }
        Persistent { schedules }
    }

    /// The schedules that no other one beats in both bytes and time, the fastest first.
    pub fn schedules(&self) -> &[(Schedule, Simulated)] {
        &self.schedules
    }

    /// The fastest whose peak is at most `budget` bytes; `None` when there is none.
    pub fn within(&self, budget: u64) -> Option<&(Schedule, Simulated)> {
        self.schedules.iter().find(|(_, simulated)| simulated.peak_bytes <= budget)
    }

    /// The least peak of all.
    pub fn least_bytes(&self) -> u64 {
        self.schedules.last().map_or(0, |(_, simulated)| simulated.peak_bytes)
    }
}

/// What the first stage of some keeps.
#[derive(Clone, Copy)]
enum First {
    All,
    /// Its input, and so does the stage of this index.
    Input(usize),
}

/// T(s, t, m).
struct Table<'a> {
    chain: &'a Chain,
    unit: u64,
    units: usize,
    /// By s and t, then m.
    ns: Vec<Vec<u64>>,
    /// The sum of the forward times of all stages before each one.
    forward_before: Vec<u64>,
    /// The sum of the parameters' gradients of all stages from each one on.
    gradients_from: Vec<u64>,
}

impl<'a> Table<'a> {
    fn new(chain: &'a Chain, unit: u64, units: usize) -> Table<'a> {
        let stages = &chain.stages;
        let mut forward_before = vec![0];
        let mut gradients_from = vec![0; stages.len() + 1];
        for (index, stage) in stages.iter().enumerate() {
            forward_before.push(forward_before[index] + stage.forward_ns);
        }
        for (index, stage) in stages.iter().enumerate().rev() {
            gradients_from[index] = gradients_from[index + 1] + stage.gradient_bytes;
        }
        let ns = vec![Vec::new(); stages.len() * stages.len()];
        let mut table = Table { chain, unit, units, ns, forward_before, gradients_from };
        for length in 1..=stages.len() {
            for s in 0..=stages.len() - length {
                let t = s + length - 1;
                table.ns[s * stages.len() + t] = table.row(s, t);
            }
        }
        table
    }

    fn least_ns(&self, s: usize, t: usize, m: usize) -> u64 {
        self.ns[s * self.chain.stages.len() + t][m]
    }

    /// T(s, t, m) for each m.
    fn row(&self, s: usize, t: usize) -> Vec<u64> {
        let mut row = vec![NEVER; self.units + 1];
        for (first, needs) in self.ways(s, t) {
            for (m, least) in row.iter_mut().enumerate().skip(needs) {
                *least = (*least).min(self.by(first, s, t, m));
            }
        }
        row
    }

    /// What the first stage may keep, and the units that each takes at least.
    fn ways(&self, s: usize, t: usize) -> Vec<(First, usize)> {
        let stages = &self.chain.stages;
        // What is there when the stages s to t are run, besides what the first one reads.
        let there = |t: usize| self.chain.handed_bytes(t) + self.gradients_from[t + 1];
        let saving = there(t) + stages[s].saving_peak_bytes.max(stages[s].saved_and_output_bytes);
        let backward = there(s) + stages[s].saved_bytes + stages[s].backward_peak_bytes;
        let mut ways = vec![(First::All, self.in_units(saving.max(backward)))];
        let mut most = 0;
        for k in s + 1..=t {
            let before = if k - 1 == s { 0 } else { stages[k - 2].output_bytes };
            let runs = stages[k - 1].forward_peak_bytes.max(stages[k - 1].output_bytes);
            most = most.max(before + runs);
            ways.push((First::Input(k), self.in_units(there(t) + most)));
        }
        ways
    }

    /// The time of one way.
    fn by(&self, first: First, s: usize, t: usize, m: usize) -> u64 {
        let stages = &self.chain.stages;
        let behind = |first: usize, kept: u64| match m.checked_sub(self.in_units(kept)) {
            Some(left) => self.least_ns(first, t, left),
            None => NEVER,
        };
        match first {
            First::All if s == t => stages[s].forward_ns + stages[s].backward_ns,
            First::All => behind(s + 1, stages[s].saved_and_output_bytes)
                .saturating_add(stages[s].forward_ns + stages[s].backward_ns),
            First::Input(k) => behind(k, stages[k - 1].output_bytes)
                .saturating_add(self.least_ns(s, k - 1, m))
                .saturating_add(self.forward_before[k] - self.forward_before[s]),
        }
    }

    /// Appends the operations of the fastest way, which there is.
    fn write(&self, schedule: &mut Schedule, s: usize, t: usize, m: usize) {
        let ways = self.ways(s, t).into_iter().filter(|&(_, needs)| needs <= m).map(|(first, _)| first);
        let Some(first) = ways.min_by_key(|&first| self.by(first, s, t, m)) else { return };
        let in_units = |bytes| self.in_units(bytes);
        match first {
            First::All if s == t => schedule.save_and_reverse(s..s + 1),
            First::All => {
                schedule.0.push(Operation::Forward { stage: s, keep: Keep::All });
                self.write(schedule, s + 1, t, m - in_units(self.chain.stages[s].saved_and_output_bytes));
                schedule.0.push(Operation::Backward { stage: s });
            }
            First::Input(k) => {
                schedule.run_through(s..k);
                self.write(schedule, k, t, m - in_units(self.chain.stages[k - 1].output_bytes));
                self.write(schedule, s, k - 1, m);
            }
        }
    }

    fn in_units(&self, bytes: u64) -> usize {
        usize::try_from(bytes.div_ceil(self.unit)).unwrap_or(usize::MAX)
    }
}
