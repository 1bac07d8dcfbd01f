//! From the replay to the file's analysis: figures, flows, histograms, growth.
use std::cmp::Reverse;
use std::collections::BTreeMap;

use alloc_timeline::{Analysis, Category, Coverage, Dimension, Fate, Figures, Growth, GrowthOwner, NONE, Over, Place};

use super::account::{Account, Amount};
use super::group::{Group, Key, PHASES};
use super::ownership::Way;
use super::replay::{CELL, Replay};
use crate::ledger::totals::Counts;
use crate::tag::scope::{self, TRACKER};

/// The most phases, layers, and layers in a phase whose figures reach the file: those with the highest peaks.
const MOST_FIGURES: usize = 200;
/// What the phases beyond the first [`PHASES`] are called together.
const OTHER_PHASES: &str = "other phases";

impl Replay {
    /// What became of the blocks so far. `counts` is what each scope has done since the process began.
    pub fn analysis(&self, time_ns: u64, counts: &[Counts]) -> Analysis {
        let known = &self.known;
        let held = |account: &Account| {
            let way = Way { from: account.groups[CELL], to: None, fate: Fate::Held, category: account.category };
            (way, account.known)
        };
        Analysis {
            time_ns,
            coverage: self.coverage(counts),
            figures: self.figures(),
            flows: known.flows.table(self.accounts.iter().map(held), |cell| self.place(cell)),
            histograms: known.histograms.table(),
            growth: self.growth(),
        }
    }

    fn growth(&self) -> Growth {
        let told = self.history.told();
        let owner = |(index, live_bytes): (usize, Vec<u64>)| {
            let Account { scope, category, .. } = self.accounts[index];
            GrowthOwner { scope: scope.into(), category, live_bytes }
        };
        Growth {
            steps: told.steps,
            live_bytes: told.live_bytes,
            owners: told.columns.into_iter().map(owner).collect(),
            other_bytes: told.other_bytes,
        }
    }

    fn coverage(&self, counts: &[Counts]) -> Coverage {
        let mut all = Counts::default();
        let others = |(scope, counts)| (scope != usize::from(TRACKER)).then_some(counts);
        counts.iter().enumerate().filter_map(others).for_each(|counts| all.add(counts));
        let before = &self.known.before;
        let Amount { usable, blocks, .. } = self.known.all;
        let (bytes, blocks) = (usable.max(0) as u64, blocks.max(0) as u64);
        Coverage {
            blocks,
            bytes,
            shrunk_bytes: self.known.shrunk as u64,
            // A block that was counted before the recording and became known during it is in both.
            all_blocks: all.allocations.wrapping_sub(before.frees).max(blocks),
            all_bytes: all.allocated.wrapping_sub(before.freed).max(bytes),
        }
    }

    fn place(&self, cell: u32) -> Place {
        match self.groups[cell as usize].key {
            Key::Cell { phase, layer } => {
                Place { phase: scope::text(phase).to_owned(), layer: scope::text(layer).to_owned() }
            }
            Key::Named(..) => Place::default(),
        }
    }

    fn figures(&self) -> Vec<Figures> {
        // A group with its phase and layer.
        type Row<'a> = (&'a Group, Option<u32>, Option<u32>);
        let mut kinds: [Vec<Row>; 3] = Default::default();
        for group in self.groups.iter().filter(|group| group.high.usable > 0) {
            match group.key {
                Key::Named(Dimension::Phase, phase) => kinds[0].push((group, Some(phase), None)),
                Key::Named(Dimension::Layer, layer) => kinds[1].push((group, None, Some(layer))),
                Key::Cell { phase, layer } => kinds[2].push((group, Some(phase), Some(layer))),
                Key::Named(..) => {}
            }
        }
        for kind in &mut kinds {
            kind.sort_by_key(|(group, phase, layer)| (Reverse(group.high.usable), *phase, *layer));
            kind.truncate(MOST_FIGURES);
        }
        kinds.into_iter().flatten().map(|(group, phase, layer)| self.figures_of(group, phase, layer)).collect()
    }

    fn figures_of(&self, group: &Group, phase: Option<u32>, layer: Option<u32>) -> Figures {
        let ends = group.phase.map_or(0, |phase| self.phases[phase as usize].1);
        let (retained, retained_at) = match (group.at_phase_end(ends), group.at_step_end(self.step_ends)) {
            (Some(bytes), _) => (bytes, Over::PhaseEnd),
            (None, Some(bytes)) => (bytes, Over::StepEnd),
            (None, None) => (group.live.usable, Over::Now),
        };
        let high = &group.high;
        let process_bytes = high.process.max(0) as u64;
        let phase_name = |number: usize| match self.phases.get(number) {
            Some((name, _)) if number + 1 < PHASES => shown(scope::text(*name)),
            _ => OTHER_PHASES,
        };
        Figures {
            phase: phase.map(|name| scope::text(name).to_owned()),
            layer: layer.map(|name| scope::text(name).to_owned()),
            peak_bytes: high.usable.max(0) as u64,
            peak_requested_bytes: high.requested.max(0) as u64,
            peak_ns: high.time_ns,
            process_bytes,
            process_by_phase: split(&high.alive.phases, process_bytes, phase_name),
            process_by_category: split(&high.alive.categories, process_bytes, |number| Category::ALL[number].name()),
            retained_bytes: retained.max(0) as u64,
            retained_at,
            largest_block_bytes: group.largest as u64,
        }
    }
}

/// What a table calls a phase.
fn shown(name: &'static str) -> &'static str {
    if name.is_empty() { NONE } else { name }
}

/// The parts of `whole` by name. A part can be below zero while one thread has published what it freed and another not
/// yet what it allocated: that is taken off the others, the largest first, so that the parts make the whole.
fn split<'a>(parts: &[i64], whole: u64, name: impl Fn(usize) -> &'a str) -> BTreeMap<String, u64> {
    let mut some: Vec<(usize, u64)> = parts.iter().map(|part| (*part).max(0) as u64).enumerate().collect();
    some.sort_by_key(|(number, part)| (Reverse(*part), *number));
    let mut surplus = some.iter().map(|(_, part)| part).sum::<u64>().saturating_sub(whole);
    for (_, part) in &mut some {
        let less = surplus.min(*part);
        *part -= less;
        surplus -= less;
    }
    some.into_iter().filter(|(_, part)| *part > 0).map(|(number, part)| (name(number).to_owned(), part)).collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn parts_below_zero_are_taken_off_the_largest() {
        let names = ["a", "b", "c"];
        let parts = split(&[70, -20, 50], 100, |number| names[number]);
        assert_eq!(parts.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 50), ("c".to_owned(), 50)]);
        assert!(split(&[-3, 2, 1], 0, |number| names[number]).is_empty());
    }
}
