//! A network as a chain: where its list of stages can be cut so that each part reads one map alone.
//!
//! A map is a place for a cut when
//! - all behind it read nothing from before it: in a residual block or beside a branch there are two maps;
//! - nobody writes over it, or the part behind it could not be run again: batch norm and an in-place ReLU stay together;
//! - it has a storage of its own, which flattening does not give it;
//! - a parameter stands before it, so that there is a way back from it.
use std::ops::Range;

use crate::model::op::{Op, Place};
use crate::model::stage::{Map, Stage};

/// A part of a network that reads one map and leaves one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The stages of the network's list.
    pub stages: Range<usize>,
    /// The layer that it is, or the first and the last of several.
    pub name: String,
    /// Whether it draws random numbers.
    pub is_random: bool,
}

/// The parts of `stages`, as short as they can be. `in_place` says whether what can work in place does.
pub fn parts(stages: &[Stage], in_place: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut first = 0;
    for last in 0..stages.len() {
        if last + 1 == stages.len() || can_be_cut(stages, last, in_place) {
            let range = first..last + 1;
            let is_random = stages[range.clone()].iter().any(|stage| matches!(stage.op, Op::Dropout { .. }));
            parts.push(Part { name: name(&stages[range.clone()]), stages: range, is_random });
            first = last + 1;
        }
    }
    parts
}

/// Whether the list can be cut behind the stage `last`.
fn can_be_cut(stages: &[Stage], last: usize, in_place: bool) -> bool {
    let map = Map(last + 1);
    let (before, behind) = stages.split_at(last + 1);
    let reads_it_alone = behind.iter().all(|stage| stage.reads.iter().all(|&read| read >= map));
    let has_way_back = before.iter().any(|stage| stage.op.parameters() > 0);
    reads_it_alone
        && has_way_back
        && !matches!(stages[last].op, Op::Flatten | Op::Sequence(_))
        && !(in_place && is_written_over(stages, map))
}

/// Whether a stage works in place on `map`, or on a view of it.
fn is_written_over(stages: &[Stage], map: Map) -> bool {
    stages.iter().enumerate().filter(|(_, stage)| stage.reads[0] == map).any(|(index, stage)| match stage.op {
        Op::Relu6 | Op::Sequence(_) => true,
        Op::Relu(place) | Op::Add(place) => place == Place::InPlace,
        Op::LeakyRelu { place, .. } | Op::Dropout { place, .. } => place == Place::InPlace,
        Op::Flatten => is_written_over(stages, Map(index + 1)),
        _ => false,
    })
}

/// What all layers of a part are in; or the first and the last.
fn name(stages: &[Stage]) -> String {
    let (first, last) = match stages {
        [] => return String::new(),
        [only] => return only.name.clone(),
        [first, .., last] => (&first.name, &last.name),
    };
    let around = |module: &&str| {
        let inside =
            |name: &str| name.strip_prefix(*module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        stages.iter().all(|stage| inside(&stage.name))
    };
    let mut modules = first.match_indices('.').map(|(end, _)| &first[..end]).chain([first.as_str()]);
    modules.rfind(around).map_or_else(|| format!("{first}..{last}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelName;

    fn names(model: ModelName, in_place: bool) -> Vec<String> {
        parts(&model.stages(10), in_place).into_iter().map(|part| part.name).collect()
    }

    #[test]
    fn resnet_is_a_stem_and_blocks() {
        let expected = [
            "conv1",
            "bn1..relu",
            "maxpool",
            "layer1.0",
            "layer1.1",
            "layer2.0",
            "layer2.1",
            "layer3.0",
            "layer3.1",
            "layer4.0",
            "layer4.1",
            "avgpool",
            "avgpool..fc",
        ];
        assert_eq!(names(ModelName::ResNet18, true), expected);
        assert_eq!(names(ModelName::ResNet18, false)[1..3], ["bn1", "relu"], "nothing is written over");
    }

    #[test]
    fn lenet_and_alexnet() {
        let expected = ["conv1..relu", "pool", "conv2..relu", "pool", "flatten..relu", "fc2..relu", "fc3"];
        assert_eq!(names(ModelName::LeNet5, true), expected);
        let random: Vec<Part> =
            parts(&ModelName::AlexNet.stages(10), true).into_iter().filter(|part| part.is_random).collect();
        assert_eq!(random.len(), 2, "{random:?}");
    }

    /// The parts are the list, one behind the other, whatever the network.
    #[test]
    fn nothing_is_left_out() {
        for model in [
            ModelName::Vgg16,
            ModelName::MobileNetV1,
            ModelName::MobileNetV2,
            ModelName::DenseNet40,
            ModelName::InceptionV1,
        ] {
            let stages = model.stages(10);
            let parts = parts(&stages, true);
            assert!(parts.len() > 2, "{model}: {parts:?}");
            assert_eq!((parts[0].stages.start, parts[parts.len() - 1].stages.end), (0, stages.len()));
            assert!(parts.windows(2).all(|pair| pair[0].stages.end == pair[1].stages.start), "{model}");
        }
    }
}
