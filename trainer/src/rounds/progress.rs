//! How far the runs are: a bar where stderr is a terminal, a line for each run, and the time that is left by what the runs
//! took so far.
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console;

/// What the runs took, by the number of their point.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    wall: BTreeMap<usize, Vec<Duration>>,
}

impl Pace {
    /// A run of `point` took so long.
    pub(crate) fn add(&mut self, point: usize, wall: Duration) {
        self.wall.entry(point).or_default().push(wall);
    }

    /// How long the runs of `points` will take: each as long as its point took so far or, where it has not run yet, as long
    /// as the mean point. `None` before the first run.
    pub(crate) fn left(&self, points: impl Iterator<Item = usize>) -> Option<Duration> {
        let mean = |walls: &Vec<Duration>| walls.iter().sum::<Duration>() / walls.len() as u32;
        let means: BTreeMap<usize, Duration> = self.wall.iter().map(|(point, walls)| (*point, mean(walls))).collect();
        let usual = means.values().sum::<Duration>().checked_div(means.len() as u32)?;
        Some(points.map(|point| means.get(&point).copied().unwrap_or(usual)).sum())
    }
}

/// Tells the user how far the runs are.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    runs: usize,
    done: usize,
}

impl Progress {
    /// For `runs` runs, of which `done` ended before.
    pub(crate) fn new(runs: usize, done: usize) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(runs as u64), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {elapsed}  {msg}");
            let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_position(done as u64);
            bar
        });
        Progress { bar, runs, done }
    }

    /// A run ended; `text` says how. `left` is the time that the others will take.
    pub(crate) fn ended(&mut self, text: &str, left: Option<Duration>) {
        self.done += 1;
        let left = left.map_or(String::new(), |left| format!("about {} left", HumanDuration(left)));
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.set_message(left);
                bar.suspend(|| console::print_error_line(text));
            }
            None => console::print_error_line(&format!("{}/{}  {text}  {left}", self.done, self.runs)),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Point 0 took 2 and 4 s, point 1 took 9 s: 3 s and 9 s on the average, and 6 s for a point that has not run.
    #[test]
    fn the_time_left_is_that_of_the_same_points() {
        let mut pace = Pace::default();
        assert_eq!(pace.left([0].into_iter()), None);
        for (point, seconds) in [(0, 2), (0, 4), (1, 9)] {
            pace.add(point, Duration::from_secs(seconds));
        }
        assert_eq!(pace.left([0, 1, 2].into_iter()), Some(Duration::from_secs(3 + 9 + 6)));
    }
}
