//! The networks against their references.
use super::*;
use crate::model::op::{Op, Place, SequenceOp};
use crate::model::shape;
use crate::model::stage::last_readers;
use clap::ValueEnum;

/// Trainable parameters of the reference implementations: torchvision's (InceptionV1 without auxiliary classifiers), for
/// the others those of the papers' own code or of the port that the file names.
#[test]
fn parameters_of_the_references() {
    let expected = |model| match model {
        ModelName::LeNet5 => (10, 61_706),
        ModelName::AlexNet => (1000, 61_100_840),
        ModelName::Vgg16 => (1000, 138_357_544),
        ModelName::Vgg19 => (1000, 143_667_240),
        ModelName::SqueezeNet11 => (1000, 1_235_496),
        ModelName::MobileNetV1 => (1000, 4_231_976),
        // Keras counts 1,832,976 with the 16,416 running statistics, and so on.
        ModelName::MobileNetV1ThreeQuarters => (1000, 2_585_560),
        ModelName::MobileNetV1Half => (1000, 1_331_592),
        ModelName::MobileNetV1Quarter => (1000, 470_072),
        ModelName::MobileNetV2 => (1000, 3_504_872),
        ModelName::ResNet18 => (1000, 11_689_512),
        ModelName::ResNet34 => (1000, 21_797_672),
        ModelName::ResNet50 => (1000, 25_557_032),
        ModelName::ResNet101 => (1000, 44_549_160),
        ModelName::ResNet152 => (1000, 60_192_808),
        ModelName::DenseNet40 => (10, 1_019_722),
        ModelName::DenseNetBc100 => (10, 769_162),
        ModelName::InceptionV1 => (1000, 6_624_904),
        ModelName::Xception => (1000, 22_855_952),
        // Zaremba et al.'s 10,000 words; PyTorch's two biases a gate make 1,600 more a layer than one would.
        ModelName::Lstm => (10_000, 4_653_200),
        ModelName::CharCnn => (4, 11_339_780),
        // nn.Embedding(10000, 256) twice, nn.GRU(256, 256) twice, nn.Linear(512, 256), nn.Linear(256, 10000).
        ModelName::Seq2Seq => (10_000, 8_610_832),
        // BertForSequenceClassification of bert-base-uncased and of google/bert_uncased_L-2_H-128_A-2.
        ModelName::BertBase => (2, 109_483_778),
        ModelName::BertTiny => (2, 4_386_178),
        // 3,576,704 of the generator and 2,765,568 of the discriminator, for images of three channels.
        ModelName::Dcgan => (1, 6_342_272),
        // 1,686,180 with the four actions of Breakout; the last layer has 513 for each.
        ModelName::Dqn => (3, 1_685_667),
    };
    for &model in ModelName::value_variants() {
        let (classes, parameters) = expected(model);
        let counted: u64 = model.stages(classes).iter().map(|stage| stage.op.parameters()).sum();
        assert_eq!(counted, parameters, "{model}");
    }
}

/// In the reference's size every network ends with one number for each class, language models at each place.
#[test]
fn the_last_map_is_the_logits() {
    for &model in ModelName::value_variants() {
        let shapes = shape::shapes(&model.stages(10), model.input()).expect("the reference's size fits");
        let expected = match model {
            ModelName::Lstm => Shape::Sequence { length: 20, features: 10 },
            ModelName::Seq2Seq => Shape::Sequence { length: 50, features: 10 },
            // One probability; one number for each action.
            ModelName::Dcgan => Shape::Maps { channels: 1, side: 1 },
            ModelName::Dqn => Shape::Vector { features: 3 },
            _ => Shape::Vector { features: 10 },
        };
        assert_eq!(shapes.last(), Some(&expected), "{model}");
    }
}

/// Whether it writes over the first map that it reads.
fn is_in_place(op: Op) -> bool {
    match op {
        Op::Relu(place) | Op::Add(place) | Op::LeakyRelu { place, .. } | Op::Dropout { place, .. } => {
            place == Place::InPlace
        }
        Op::Relu6 | Op::Sequence(SequenceOp::AddEmbedding { .. }) => true,
        _ => false,
    }
}

/// What works in place writes over a map that no later stage reads, and that no pool or batch norm before it has
/// left to be read in the backward pass in its old state.
#[test]
fn nothing_is_overwritten_that_is_still_needed() {
    for &model in ModelName::value_variants() {
        let stages = model.stages(10);
        let last = last_readers(&stages);
        for (index, stage) in stages.iter().enumerate() {
            let is_read = index + 1 == stages.len() || last[index + 1].is_some();
            assert!(is_read, "{model} {}: a map that nobody reads would be held to the end", stage.name);
            if is_in_place(stage.op) {
                assert_eq!(last[stage.reads[0].0], Some(index), "{model} {}", stage.name);
            }
        }
    }
}
