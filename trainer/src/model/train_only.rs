//! Which parts of a network a training step changes: all of it, the last layers, or layers or filters drawn anew for each step.
//!
//! ```text
//! all             every layer
//! last:3          the last three layers with parameters; those before them never change
//! layers:0.5      half of the layers with parameters, drawn anew for each step
//! filters:0.25    of each layer a quarter of its filters (output channels), drawn anew for each step
//! ```
//!
//! What a step draws depends on the seed and on the step's number alone, so a plan knows what a run will draw.
use std::fmt;
use std::str::FromStr;

use super::stage::Stage;
use crate::random::Random;

/// What is typed behind `--train-only`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum TrainOnly {
    /// Every layer.
    #[default]
    All,
    /// So many layers with parameters, from the last one on.
    Last(usize),
    /// This share of the layers with parameters, others in each step.
    Layers(Share),
    /// This share of each layer's filters, others in each step.
    Filters(Share),
}

/// More than 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

impl Share {
    /// So much of `count`, to the nearest whole number, and one at least.
    fn of(self, count: usize) -> usize {
        ((self.0 * count as f64).round() as usize).clamp(1, count.max(1))
    }
}

/// The number of layers of a network that have parameters.
pub fn layers(stages: &[Stage]) -> usize {
    stages.iter().filter(|stage| stage.op.parameters() > 0).count()
}

impl TrainOnly {
    /// Freezes what the step of this number, counted from 1, does not change. Filters are parts of a layer, which is not frozen.
    pub fn freeze(self, stages: &mut [Stage], seed: u64, step: u64) {
        let with_parameters: Vec<usize> =
            (0..stages.len()).filter(|&index| stages[index].op.parameters() > 0).collect();
        let learns = match self {
            TrainOnly::All | TrainOnly::Filters(_) => (0..with_parameters.len()).collect(),
            TrainOnly::Last(count) => (with_parameters.len().saturating_sub(count)..with_parameters.len()).collect(),
            TrainOnly::Layers(share) => {
                let mut random = Random::new(of_step(seed, step));
                drawn(&mut random, share.of(with_parameters.len()), with_parameters.len())
            }
        };
        stages.iter_mut().for_each(|stage| stage.frozen = true);
        for place in learns {
            stages[with_parameters[place]].frozen = false;
        }
    }

    /// Freezes what no step up to this one changes.
    pub fn freeze_untouched(self, stages: &mut [Stage], seed: u64, step: u64) {
        let mut touched = vec![false; stages.len()];
        // The others freeze the same in each step.
        let first = if matches!(self, TrainOnly::Layers(_)) { 1 } else { step };
        for step in first..=step {
            self.freeze(stages, seed, step);
            stages.iter().zip(&mut touched).for_each(|(stage, touched)| *touched |= !stage.frozen);
            if stages.iter().zip(&touched).all(|(stage, &touched)| touched || stage.op.parameters() == 0) {
                break;
            }
        }
        stages.iter_mut().zip(touched).for_each(|(stage, touched)| stage.frozen = !touched);
    }

    /// Freezes what leaves the step that needs least: where layers are drawn, all but the last ones might be frozen.
    pub fn freeze_least(self, stages: &mut [Stage]) {
        let least = match self {
            TrainOnly::Layers(share) => TrainOnly::Last(share.of(layers(stages))),
            only => only,
        };
        least.freeze(stages, 0, 1);
    }

    /// The filters that a step does not change, of each of the layers with so many; none where whole layers are chosen.
    pub fn frozen_filters(self, filters: &[usize], seed: u64, step: u64) -> Option<Vec<Vec<usize>>> {
        let TrainOnly::Filters(share) = self else { return None };
        let mut random = Random::new(of_step(seed, step));
        let of_layer = |&filters: &usize| {
            let learns = drawn(&mut random, share.of(filters), filters);
            (0..filters).filter(|filter| learns.binary_search(filter).is_err()).collect()
        };
        Some(filters.iter().map(of_layer).collect())
    }
}

/// The seed of what a step draws. The data's order begins with the run's seed itself.
fn of_step(seed: u64, step: u64) -> u64 {
    // So that a step of one seed is no step of the next one.
    seed.rotate_left(32) ^ step
}

/// `count` of the numbers below `all`, in their order.
fn drawn(random: &mut Random, count: usize, all: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..all).collect();
    for place in 0..count {
        let other = place + random.below(all - place);
        numbers.swap(place, other);
    }
    numbers.truncate(count);
    numbers.sort_unstable();
    numbers
}

impl FromStr for TrainOnly {
    type Err = String;

    fn from_str(typed: &str) -> Result<TrainOnly, String> {
        let wrong = |what: &str| format!("{what}; give all, last:3, layers:0.5 or filters:0.25");
        let share = |text: &str| match text.parse::<f64>() {
            Ok(share) if share > 0.0 && share <= 1.0 => Ok(Share(share)),
            Ok(_) => Err(wrong(&format!("a share lies above 0 and is 1 at most, not {text}"))),
            Err(_) => Err(wrong(&format!("{text} is no share"))),
        };
        match typed.split_once(':') {
            None if typed == "all" => Ok(TrainOnly::All),
            Some(("last", count)) => match count.parse::<usize>() {
                Ok(0) => Err(wrong("last:0 trains nothing")),
                Ok(count) => Ok(TrainOnly::Last(count)),
                Err(_) => Err(wrong(&format!("{count} is no number of layers"))),
            },
            Some(("layers", text)) => share(text).map(TrainOnly::Layers),
            Some(("filters", text)) => share(text).map(TrainOnly::Filters),
            _ => Err(wrong(&format!("{typed} names no part of a network"))),
        }
    }
}

impl fmt::Display for TrainOnly {
    /// As it is typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrainOnly::All => f.write_str("all"),
            TrainOnly::Last(count) => write!(f, "last:{count}"),
            TrainOnly::Layers(Share(share)) => write!(f, "layers:{share}"),
            TrainOnly::Filters(Share(share)) => write!(f, "filters:{share}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::ModelName;

    /// The names of the layers that learn.
    fn learning(only: &str, seed: u64, step: u64) -> Vec<String> {
        let mut stages = ModelName::LeNet5.stages(10);
        only.parse::<TrainOnly>().expect("typed well").freeze(&mut stages, seed, step);
        stages.iter().filter(|stage| stage.learns()).map(|stage| stage.name.clone()).collect()
    }

    #[test]
    fn the_last_layers_are_those_with_parameters() {
        assert_eq!(learning("last:1", 1, 1), ["fc3"]);
        assert_eq!(learning("last:4", 1, 7), ["conv2", "fc1", "fc2", "fc3"]);
        assert_eq!(learning("last:9", 1, 1), learning("all", 1, 1), "it has five");
        assert_eq!(learning("filters:0.1", 1, 1), learning("all", 1, 1), "a part of each");
    }

    /// 0.4 of 5 are 2; 0.01 of 5 are one all the same.
    #[test]
    fn each_step_draws_anew_and_the_seed_decides() {
        let steps = |seed| (1..=20).map(|step| learning("layers:0.4", seed, step)).collect::<Vec<_>>();
        let first = steps(1);
        assert!(first.iter().all(|layers| layers.len() == 2), "{first:?}");
        assert!(first.windows(2).any(|steps| steps[0] != steps[1]), "{first:?}");
        for layer in learning("all", 1, 1) {
            assert!(first.iter().any(|layers| layers.contains(&layer)), "{layer} is never drawn: {first:?}");
        }
        assert_eq!(first, steps(1));
        assert_ne!(first, steps(2));
        assert_eq!(learning("layers:0.01", 1, 1).len(), 1);
    }

    /// Drawn in steps 1 and 2 together are what has a state of the optimizer behind step 2.
    #[test]
    fn touched_so_far() {
        let only: TrainOnly = "layers:0.2".parse().expect("typed well");
        let mut stages = ModelName::LeNet5.stages(10);
        only.freeze_untouched(&mut stages, 1, 2);
        let touched: Vec<String> =
            stages.iter().filter(|stage| stage.learns()).map(|stage| stage.name.clone()).collect();
        let both = [learning("layers:0.2", 1, 1), learning("layers:0.2", 1, 2)].concat();
        assert!(touched.iter().all(|layer| both.contains(layer)) && both.iter().all(|layer| touched.contains(layer)));
    }

    #[test]
    fn filters_of_each_layer() {
        let only: TrainOnly = "filters:0.25".parse().expect("typed well");
        let frozen = only.frozen_filters(&[8, 120, 1], 1, 1).expect("filters");
        assert_eq!(frozen.iter().map(Vec::len).collect::<Vec<_>>(), [6, 90, 0], "one learns at least");
        assert!(frozen[1].windows(2).all(|two| two[0] < two[1]));
        assert_eq!(TrainOnly::Last(1).frozen_filters(&[8], 1, 1), None);
    }

    #[test]
    fn as_it_is_typed() {
        for typed in ["all", "last:3", "layers:0.5", "filters:0.25"] {
            assert_eq!(typed.parse::<TrainOnly>().expect("typed well").to_string(), typed);
        }
        let problem = |typed: &str| typed.parse::<TrainOnly>().expect_err("refused");
        assert_eq!(
            problem("first:3"),
            "first:3 names no part of a network; give all, last:3, layers:0.5 or filters:0.25"
        );
        assert!(problem("last:0").starts_with("last:0 trains nothing"));
        assert!(problem("last:x").starts_with("x is no number of layers"));
        assert!(problem("layers:0").starts_with("a share lies above 0 and is 1 at most, not 0"));
        assert!(problem("filters:60").starts_with("a share lies above 0"));
        assert!(problem("filters:NaN").starts_with("a share lies above 0"));
    }
}
