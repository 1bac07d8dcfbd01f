//! The networks that the trainer knows, by name, and what is known of each.
use super::objective::Objective;
use super::shape::Shape;
use super::stage::Stage;
use super::zoo::resnet::Block;
use super::zoo::{
    alexnet, dcgan, densenet, dqn, inception_v1, lenet, mobilenet_v1, mobilenet_v2, resnet, squeezenet, vgg, xception,
};

/// The networks that the trainer knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ModelName {
    /// MobileNetV1, width 1.0, with plain ReLU.
    #[value(name = "mobilenet_v1")]
    MobileNetV1,
    /// ResNet-18 as torchvision builds it.
    #[value(name = "resnet18")]
    ResNet18,
    /// LeNet-5, for grey images of 32 x 32.
    #[value(name = "lenet5")]
    LeNet5,
    /// AlexNet as torchvision builds it.
    #[value(name = "alexnet")]
    AlexNet,
    /// VGG-16 without batch norm.
    #[value(name = "vgg16")]
    Vgg16,
    /// VGG-19 without batch norm.
    #[value(name = "vgg19")]
    Vgg19,
    /// SqueezeNet 1.1 as torchvision builds it.
    #[value(name = "squeezenet1_1")]
    SqueezeNet11,
    /// MobileNetV1, width 0.25.
    #[value(name = "mobilenet_v1_025")]
    MobileNetV1Quarter,
    /// MobileNetV1, width 0.5.
    #[value(name = "mobilenet_v1_050")]
    MobileNetV1Half,
    /// MobileNetV1, width 0.75.
    #[value(name = "mobilenet_v1_075")]
    MobileNetV1ThreeQuarters,
    /// MobileNetV2, width 1.0.
    #[value(name = "mobilenet_v2")]
    MobileNetV2,
    /// ResNet-34 as torchvision builds it.
    #[value(name = "resnet34")]
    ResNet34,
    /// ResNet-50, version 1.5.
    #[value(name = "resnet50")]
    ResNet50,
    /// ResNet-101, version 1.5.
    #[value(name = "resnet101")]
    ResNet101,
    /// ResNet-152, version 1.5.
    #[value(name = "resnet152")]
    ResNet152,
    /// DenseNet-40 with growth 12, for images of 32 x 32.
    #[value(name = "densenet40_12")]
    DenseNet40,
    /// DenseNet-BC-100 with growth 12, for images of 32 x 32.
    #[value(name = "densenet_bc100_12")]
    DenseNetBc100,
    /// InceptionV1 (GoogLeNet) without auxiliary classifiers.
    #[value(name = "inception_v1")]
    InceptionV1,
    /// Xception, for images of 299 x 299.
    #[value(name = "xception")]
    Xception,
    /// DCGAN as PyTorch's example builds it: a generator and a discriminator for images of 64 x 64.
    Dcgan,
    /// The deep Q-network of Mnih et al. (2015), which plays a built-in game of catch.
    Dqn,
}

/// What is known of a network.
struct Facts {
    name: &'static str,
    /// Channels and side of the images that the reference implementation is for.
    input: Shape,
    paper: &'static str,
}

impl ModelName {
    /// The two that the demo compares.
    pub const DEMO: [ModelName; 2] = [ModelName::MobileNetV1, ModelName::ResNet18];

    /// The name on the command line and in the timeline.
    pub fn as_str(self) -> &'static str {
        self.facts().name
    }

    /// Channels and side of the images that the reference implementation is for.
    pub fn input(self) -> Shape {
        self.facts().input
    }

    /// Images of another side: [channels, side, side]. That of a network with fixed sizes stays.
    pub fn input_of(self, side: u64) -> Shape {
        if self.fixed_sizes().is_some() { self.input() } else { Shape { side, ..self.input() } }
    }

    /// What it learns.
    pub fn objective(self) -> Objective {
        match self {
            ModelName::Dcgan => Objective::Adversarial,
            ModelName::Dqn => Objective::QLearning,
            _ => Objective::Classes,
        }
    }

    /// Side of the images that it works on and outputs of its last layer, where nothing else can be asked for.
    pub fn fixed_sizes(self) -> Option<(u64, u64)> {
        match self {
            ModelName::Dcgan => Some((dcgan::SIDE, 1)),
            ModelName::Dqn => Some((dqn::SIDE, dqn::ACTIONS)),
            _ => None,
        }
    }

    /// Where it was published.
    pub fn paper(self) -> &'static str {
        self.facts().paper
    }

    /// The stages in the order in which they run.
    pub fn stages(self, classes: u64) -> Vec<Stage> {
        match self {
            ModelName::LeNet5 => lenet::stages(classes),
            ModelName::AlexNet => alexnet::stages(classes),
            ModelName::Vgg16 => vgg::stages([2, 2, 3, 3, 3], classes),
            ModelName::Vgg19 => vgg::stages([2, 2, 4, 4, 4], classes),
            ModelName::SqueezeNet11 => squeezenet::stages(classes),
            ModelName::MobileNetV1 => mobilenet_v1::stages(4, classes),
            ModelName::MobileNetV1ThreeQuarters => mobilenet_v1::stages(3, classes),
            ModelName::MobileNetV1Half => mobilenet_v1::stages(2, classes),
            ModelName::MobileNetV1Quarter => mobilenet_v1::stages(1, classes),
            ModelName::MobileNetV2 => mobilenet_v2::stages(classes),
            ModelName::ResNet18 => resnet::stages(Block::Basic, [2, 2, 2, 2], classes),
            ModelName::ResNet34 => resnet::stages(Block::Basic, [3, 4, 6, 3], classes),
            ModelName::ResNet50 => resnet::stages(Block::Bottleneck, [3, 4, 6, 3], classes),
            ModelName::ResNet101 => resnet::stages(Block::Bottleneck, [3, 4, 23, 3], classes),
            ModelName::ResNet152 => resnet::stages(Block::Bottleneck, [3, 8, 36, 3], classes),
            ModelName::DenseNet40 => densenet::stages(40, false, classes),
            ModelName::DenseNetBc100 => densenet::stages(100, true, classes),
            ModelName::InceptionV1 => inception_v1::stages(classes),
            ModelName::Xception => xception::stages(classes),
            ModelName::Dcgan => dcgan::stages(),
            ModelName::Dqn => dqn::policy(),
        }
    }

    fn facts(self) -> Facts {
        let of = |name, side, paper| Facts { name, input: Shape { channels: 3, side }, paper };
        match self {
            ModelName::LeNet5 => {
                Facts { name: "lenet5", input: Shape { channels: 1, side: 32 }, paper: "doi:10.1109/5.726791" }
            }
            ModelName::AlexNet => of("alexnet", 224, "arXiv:1404.5997"),
            ModelName::Vgg16 => of("vgg16", 224, "arXiv:1409.1556"),
            ModelName::Vgg19 => of("vgg19", 224, "arXiv:1409.1556"),
            ModelName::SqueezeNet11 => of("squeezenet1_1", 224, "arXiv:1602.07360"),
            ModelName::MobileNetV1 => of("mobilenet_v1", 224, "arXiv:1704.04861"),
            ModelName::MobileNetV1ThreeQuarters => of("mobilenet_v1_075", 224, "arXiv:1704.04861"),
            ModelName::MobileNetV1Half => of("mobilenet_v1_050", 224, "arXiv:1704.04861"),
            ModelName::MobileNetV1Quarter => of("mobilenet_v1_025", 224, "arXiv:1704.04861"),
            ModelName::MobileNetV2 => of("mobilenet_v2", 224, "arXiv:1801.04381"),
            ModelName::ResNet18 => of("resnet18", 224, "arXiv:1512.03385"),
            ModelName::ResNet34 => of("resnet34", 224, "arXiv:1512.03385"),
            ModelName::ResNet50 => of("resnet50", 224, "arXiv:1512.03385"),
            ModelName::ResNet101 => of("resnet101", 224, "arXiv:1512.03385"),
            ModelName::ResNet152 => of("resnet152", 224, "arXiv:1512.03385"),
            ModelName::DenseNet40 => of("densenet40_12", 32, "arXiv:1608.06993"),
            ModelName::DenseNetBc100 => of("densenet_bc100_12", 32, "arXiv:1608.06993"),
            ModelName::InceptionV1 => of("inception_v1", 224, "arXiv:1409.4842"),
            ModelName::Xception => of("xception", 299, "arXiv:1610.02357"),
            ModelName::Dcgan => {
                Facts { name: "dcgan", input: Shape { channels: dcgan::NOISE, side: 1 }, paper: "arXiv:1511.06434" }
            }
            ModelName::Dqn => {
                Facts { name: "dqn", input: Shape { channels: 4, side: dqn::SIDE }, paper: "doi:10.1038/nature14236" }
            }
        }
    }
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::op::{Op, Place};
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

    /// In the reference's size every network ends with one number for each class.
    #[test]
    fn the_last_map_is_the_logits() {
        let tell_classes = |model: &&ModelName| model.objective() == Objective::Classes;
        for &model in ModelName::value_variants().iter().filter(tell_classes) {
            let shapes = shape::shapes(&model.stages(10), model.input()).expect("the reference's size fits");
            assert_eq!(shapes.last(), Some(&Shape { channels: 10, side: 1 }), "{model}");
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
                let in_place = matches!(
                    stage.op,
                    Op::Relu(Place::InPlace)
                        | Op::Relu6
                        | Op::Add(Place::InPlace)
                        | Op::LeakyRelu { place: Place::InPlace, .. }
                        | Op::Dropout { place: Place::InPlace, .. }
                );
                if in_place {
                    assert_eq!(last[stage.reads[0].0], Some(index), "{model} {}", stage.name);
                }
            }
        }
    }
}
