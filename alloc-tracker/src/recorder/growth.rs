//! What is live at the end of each step, by owner: an account, or a site of sampled stacks.
//!
//! An owner's column holds only its changes. When there are more than [`MOST_STEPS`] steps, every second one is
//! forgotten, and from then on only every second one kept; the latest is always there.
/// The most steps that are kept.
const MOST_STEPS: usize = 256;
/// Owners with a column of their own in the file.
const MOST_TOLD: usize = 64;
/// Owners with a column of their own here; those that come later are part of the rest.
const MOST_COLUMNS: usize = 8 * 1024;

/// From which kept step on an owner held how much. Nothing before the first.
type Column = Vec<(u32, i64)>;

/// See the module's description.
#[derive(Debug)]
pub struct History {
    stride: u64,
    steps: Vec<u64>,
    totals: Vec<i64>,
    columns: Vec<Column>,
}

impl Default for History {
    fn default() -> Self {
        History { stride: 1, steps: Vec::new(), totals: Vec::new(), columns: Vec::new() }
    }
}

/// What a column says of the kept step with that number.
fn at(column: &Column, place: usize) -> i64 {
    let after = column.partition_point(|(from, _)| *from as usize <= place);
    after.checked_sub(1).map_or(0, |last| column[last].1)
}

impl History {
    fn is_regular(&self, step: u64) -> bool {
        (step - 1).is_multiple_of(self.stride)
    }

    /// Step number `step` (from 1) ended while the owners held so much, each at the same place every time.
    pub fn step_ended(&mut self, step: u64, held: impl Iterator<Item = i64>) {
        if self.steps.last().is_some_and(|&last| !self.is_regular(last)) {
            self.forget_last();
        }
        if self.steps.len() >= MOST_STEPS {
            self.thin_out();
        }
        let place = self.steps.len() as u32;
        let mut total = 0;
        for (index, held) in held.map(|bytes| bytes.max(0)).enumerate() {
            total += held;
            if index == self.columns.len() && index < MOST_COLUMNS {
                self.columns.push(Column::new());
            }
            if let Some(column) = self.columns.get_mut(index)
                && held != column.last().map_or(0, |last| last.1)
            {
                column.push((place, held));
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
        let kept: Vec<usize> = (0..self.steps.len()).filter(|&place| self.is_regular(self.steps[place])).collect();
        for column in &mut self.columns {
            let mut thinner = Column::new();
            for (place, &old) in kept.iter().enumerate() {
                let held = at(column, old);
                if held != thinner.last().map_or(0, |last| last.1) {
                    thinner.push((place as u32, held));
                }
            }
            *column = thinner;
        }
        self.totals = kept.iter().map(|&place| self.totals[place]).collect();
        self.steps = kept.iter().map(|&place| self.steps[place]).collect();
    }

    /// What the file tells: half of the columns are those whose lowest point of the last third of the steps is the
    /// farthest above that of the third before, the others those that changed the most.
    pub fn told(&self) -> Told {
        let count = self.steps.len();
        let mut columns: Vec<(usize, Vec<u64>)> = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            if column.len() > 1 || column.first().is_some_and(|(from, _)| *from > 0) {
                columns.push((index, (0..count).map(|place| at(column, place) as u64).collect()));
            }
        }
        let lowest = |values: &[u64]| values.iter().copied().min().unwrap_or(0);
        let rise =
            |values: &[u64]| lowest(&values[count * 2 / 3..]).saturating_sub(lowest(&values[count / 3..count * 2 / 3]));
        let change = |values: &[u64]| values.iter().copied().max().unwrap_or(0) - lowest(values);
        columns.sort_by_key(|(index, values)| (std::cmp::Reverse(rise(values)), *index));
        let split = (MOST_TOLD / 2).min(columns.len());
        columns[split..].sort_by_key(|(index, values)| (std::cmp::Reverse(change(values)), *index));
        columns.truncate(MOST_TOLD);
        let live_bytes: Vec<u64> = self.totals.iter().map(|&total| total as u64).collect();
        let mut other_bytes = live_bytes.clone();
        for (_, column) in &columns {
            other_bytes.iter_mut().zip(column).for_each(|(other, own)| *other -= own);
        }
        Told { steps: self.steps.clone(), live_bytes, columns, other_bytes }
    }
}

/// The columns that reach the file.
#[derive(Debug)]
pub struct Told {
    pub steps: Vec<u64>,
    /// All owners together.
    pub live_bytes: Vec<u64>,
    /// The places of some owners, and what they held at the end of each step.
    pub columns: Vec<(usize, Vec<u64>)>,
    /// All others together.
    pub other_bytes: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Owner 0 holds 1,000 for ever, owner 1 leaks 10 a step, owner 2 comes and goes.
    fn after(steps: u64) -> Told {
        let mut history = History::default();
        for step in 1..=steps {
            let held = [1_000, 10 * step as i64, if step % 2 == 1 { 500 } else { 0 }];
            history.step_ended(step, held.into_iter());
        }
        history.told()
    }

    #[test]
    fn few_steps_are_all_kept() {
        let growth = after(4);
        assert_eq!(growth.steps, [1, 2, 3, 4]);
        assert_eq!(growth.live_bytes, [1_510, 1_020, 1_530, 1_040]);
        let column = |owner| &growth.columns.iter().find(|(index, _)| *index == owner).expect("a column").1;
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
        let (_, leak) = growth.columns.iter().find(|(index, _)| *index == 1).expect("a column");
        for (step, bytes) in growth.steps.iter().zip(leak) {
            assert_eq!(*bytes, 10 * step);
        }
        for (place, step) in growth.steps.iter().enumerate() {
            let own: u64 = growth.columns.iter().map(|(_, column)| column[place]).sum();
            assert_eq!(own + growth.other_bytes[place], growth.live_bytes[place], "step {step}");
        }
    }
}
