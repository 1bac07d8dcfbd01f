//! Growth: what is live at the end of each step, by owner. An owner is an account, or a site of sampled stacks.
//!
//! An owner's column holds only its changes. When there are more than [`MOST_STEPS`] steps, every second one is
//! forgotten, and from then on only every second one is kept. The latest is always there.
use std::cmp::Reverse;

/// The most steps that are kept.
const MOST_STEPS: usize = 256;
/// Owners with a column of their own in the file.
const MOST_FILE_COLUMNS: usize = 64;
/// Owners with a column of their own here; those that come later are part of the rest.
const MOST_COLUMNS: usize = 8 * 1024;

/// What was live at the end of each step: the owners whose bytes changed from step to step, and the others as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrowthTable {
    /// The numbers of the steps.
    pub steps: Vec<u64>,
    /// What all owners held at the end of each.
    pub live_bytes: Vec<u64>,
    /// What some of the owners held.
    pub columns: Vec<GrowthColumn>,
    /// What all other owners held together.
    pub other_bytes: Vec<u64>,
}

/// What one owner held at the end of each step of a [`GrowthTable`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowthColumn {
    /// The owner's index in the table of all owners.
    pub owner: usize,
    /// Its live bytes.
    pub live_bytes: Vec<u64>,
}

/// From which kept step on an owner held how much. Before the first it held nothing.
type Column = Vec<(u32, i64)>;

/// See the module's description.
#[derive(Debug)]
pub struct StepHistory {
    stride: u64,
    steps: Vec<u64>,
    totals: Vec<i64>,
    columns: Vec<Column>,
}

impl Default for StepHistory {
    fn default() -> Self {
        StepHistory { stride: 1, steps: Vec::new(), totals: Vec::new(), columns: Vec::new() }
    }
}

/// What a column says of the kept step with that index.
fn at(column: &Column, index: usize) -> i64 {
    let after = column.partition_point(|(from, _)| *from as usize <= index);
    after.checked_sub(1).map_or(0, |last| column[last].1)
}

impl StepHistory {
    fn is_regular(&self, step: u64) -> bool {
        (step - 1).is_multiple_of(self.stride)
    }

    /// Step number `step` (from 1) ended while the owners held so many bytes; each has the same index every time.
    pub fn step_ended(&mut self, step: u64, held: impl Iterator<Item = i64>) {
        if self.steps.last().is_some_and(|&last| !self.is_regular(last)) {
            self.forget_last();
        }
        if self.steps.len() >= MOST_STEPS {
            self.thin_out();
        }
        let kept = self.steps.len() as u32;
        let mut total = 0;
        for (index, held) in held.map(|bytes| bytes.max(0)).enumerate() {
            total += held;
            if index == self.columns.len() && index < MOST_COLUMNS {
                self.columns.push(Column::new());
            }
            if let Some(column) = self.columns.get_mut(index)
                && held != column.last().map_or(0, |last| last.1)
            {
                column.push((kept, held));
            }
        }
        self.steps.push(step);
        self.totals.push(total);
    }

    fn forget_last(&mut self) {
        self.steps.pop();
        self.totals.pop();
        let gone = self.steps.len() as u32;
        for column in &mut self.columns {
            column.pop_if(|(from, _)| *from == gone);
        }
    }

    fn thin_out(&mut self) {
        self.stride *= 2;
        let kept: Vec<usize> = (0..self.steps.len()).filter(|&index| self.is_regular(self.steps[index])).collect();
        for column in &mut self.columns {
            let mut thinner = Column::new();
            for (index, &old) in kept.iter().enumerate() {
                let held = at(column, old);
                if held != thinner.last().map_or(0, |last| last.1) {
                    thinner.push((index as u32, held));
                }
            }
            *column = thinner;
        }
        self.totals = kept.iter().map(|&index| self.totals[index]).collect();
        self.steps = kept.iter().map(|&index| self.steps[index]).collect();
    }

    /// The columns that reach the file. Half of them are those whose lowest point in the last third of the steps is the
    /// farthest above that in the third before; the others are those that changed the most.
    pub fn table(&self) -> GrowthTable {
        let count = self.steps.len();
        let mut columns: Vec<GrowthColumn> = Vec::new();
        for (owner, column) in self.columns.iter().enumerate() {
            if column.len() > 1 || column.first().is_some_and(|(from, _)| *from > 0) {
                let live_bytes = (0..count).map(|index| at(column, index) as u64).collect();
                columns.push(GrowthColumn { owner, live_bytes });
            }
        }
        let lowest = |values: &[u64]| values.iter().copied().min().unwrap_or(0);
        let rise =
            |values: &[u64]| lowest(&values[count * 2 / 3..]).saturating_sub(lowest(&values[count / 3..count * 2 / 3]));
        let change = |values: &[u64]| values.iter().copied().max().unwrap_or(0) - lowest(values);
        columns.sort_by_key(|column| (Reverse(rise(&column.live_bytes)), column.owner));
        let split = (MOST_FILE_COLUMNS / 2).min(columns.len());
        columns[split..].sort_by_key(|column| (Reverse(change(&column.live_bytes)), column.owner));
        columns.truncate(MOST_FILE_COLUMNS);
        let live_bytes: Vec<u64> = self.totals.iter().map(|&total| total as u64).collect();
        let mut other_bytes = live_bytes.clone();
        for column in &columns {
            other_bytes.iter_mut().zip(&column.live_bytes).for_each(|(other, own)| *other -= own);
        }
        GrowthTable { steps: self.steps.clone(), live_bytes, columns, other_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Owner 0 holds 1,000 for ever, owner 1 leaks 10 a step, owner 2 comes and goes.
    fn after(steps: u64) -> GrowthTable {
        let mut history = StepHistory::default();
        for step in 1..=steps {
            let held = [1_000, 10 * step as i64, if step % 2 == 1 { 500 } else { 0 }];
            history.step_ended(step, held.into_iter());
        }
        history.table()
    }

    #[test]
    fn few_steps_are_all_kept() {
        let growth = after(4);
        assert_eq!(growth.steps, [1, 2, 3, 4]);
        assert_eq!(growth.live_bytes, [1_510, 1_020, 1_530, 1_040]);
        let column = |owner| &growth.columns.iter().find(|column| column.owner == owner).expect("a column").live_bytes;
        assert_eq!(column(1), &[10, 20, 30, 40]);
        assert_eq!(column(2), &[500, 0, 500, 0]);
        assert_eq!(growth.other_bytes, [1_000; 4], "what never changes has no column");
    }

    /// 1,000 steps: first every second, then every fourth is kept (1, 5, ... 997: 250 of them), and the latest.
    #[test]
    fn many_steps_are_thinned_out_and_the_latest_is_there() {
        let growth = after(1_000);
        assert_eq!(growth.steps.len(), 251);
        assert_eq!((growth.steps[1], growth.steps[249], growth.steps[250]), (5, 997, 1_000));
        let leak = growth.columns.iter().find(|column| column.owner == 1).expect("a column");
        for (step, bytes) in growth.steps.iter().zip(&leak.live_bytes) {
            assert_eq!(*bytes, 10 * step);
        }
        for (index, step) in growth.steps.iter().enumerate() {
            let own: u64 = growth.columns.iter().map(|column| column.live_bytes[index]).sum();
            assert_eq!(own + growth.other_bytes[index], growth.live_bytes[index], "step {step}");
        }
    }
}
