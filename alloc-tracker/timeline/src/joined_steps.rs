//! The times of a run's steps, in bounded memory: the first steps one by one, and the later ones one by one as well until
//! there are many. Then neighbours are joined, so that no time is lost.
//!
//! ```text
//! 1 2 3 ... 8 | 9 10 11 12 13 ... 128        129 steps:   1 2 3 ... 8 | 9-10 11-12 ... 127-128 129
//! ```
use crate::file::StepTimes;

/// How many of the first steps are never joined, so that a reader can leave them out: what they take is not what later
/// steps take.
const ALONE: usize = 8;
/// The most entries.
const MOST: usize = 128;

/// See the file's description.
#[derive(Clone, Debug)]
pub struct JoinedSteps {
    entries: Vec<StepTimes>,
    /// The most steps of one entry, behind the first ones.
    width: u64,
}

impl Default for JoinedSteps {
    fn default() -> Self {
        JoinedSteps { entries: Vec::new(), width: 1 }
    }
}

impl JoinedSteps {
    /// Takes in the next step.
    pub fn push(&mut self, step: StepTimes) {
        self.add(step);
        while self.entries.len() > MOST && self.width < u64::MAX {
            self.width = self.width.saturating_mul(2);
            let entries = std::mem::take(&mut self.entries);
            entries.into_iter().for_each(|entry| self.add(entry));
        }
    }

    /// Joins `step` to the latest entry where that has room for it.
    fn add(&mut self, step: StepTimes) {
        let behind_first = self.entries.len() > ALONE;
        match self.entries.last_mut() {
            Some(latest) if behind_first && latest.steps().saturating_add(step.steps()) <= self.width => {
                latest.join(&step)
            }
            _ => self.entries.push(step),
        }
    }

    /// The entries, in the order of the steps.
    pub fn entries(&self) -> &[StepTimes] {
        &self.entries
    }

    /// The entries, for a timeline.
    pub fn into_entries(self) -> Vec<StepTimes> {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::ScopeTimes;

    /// Step `index` takes as many nanoseconds, all of them in scope 1.
    fn step(index: u64) -> StepTimes {
        StepTimes {
            first_step: index,
            last_step: index,
            wall_ns: index,
            stepping_thread: ScopeTimes::from_iter([(1, index, 2)]),
            other_threads: ScopeTimes::default(),
        }
    }

    fn of(steps: u64) -> JoinedSteps {
        let mut joined = JoinedSteps::default();
        (1..=steps).for_each(|index| joined.push(step(index)));
        joined
    }

    #[test]
    fn few_steps_stay_alone() {
        assert!(of(128).entries().iter().all(|entry| entry.steps() == 1));
    }

    /// 8 alone, and 121 in pairs: 60 pairs and one alone.
    #[test]
    fn neighbours_are_joined_when_there_are_many() {
        let joined = of(129);
        let entries = joined.entries();
        assert_eq!(entries.len(), 8 + 61);
        assert_eq!((entries[7].first_step, entries[7].last_step), (8, 8));
        assert_eq!((entries[8].first_step, entries[8].last_step, entries[8].wall_ns), (9, 10, 19));
        assert_eq!(entries[8].stepping_thread, ScopeTimes::from_iter([(1, 19, 4)]));
        assert_eq!(entries[68].first_step, 129);
    }

    /// In a damaged log an entry can say that it is of most steps that a number can tell: no width is larger than two of these.
    #[test]
    fn entries_of_very_many_steps_are_joined_as_well() {
        let mut joined = JoinedSteps::default();
        (0..200).for_each(|_| joined.push(StepTimes { first_step: 0, last_step: u64::MAX, ..step(1) }));
        assert!(joined.entries().len() <= MOST);
    }

    #[test]
    fn nothing_is_lost_however_many_there_are() {
        for steps in [500, 5_000] {
            let joined = of(steps);
            assert!(joined.entries().len() <= MOST);
            assert_eq!(joined.entries().iter().map(|entry| entry.wall_ns).sum::<u64>(), steps * (steps + 1) / 2);
            let follows = |pair: &[StepTimes]| pair[0].last_step + 1 == pair[1].first_step;
            assert!(joined.entries().windows(2).all(follows));
        }
    }
}
