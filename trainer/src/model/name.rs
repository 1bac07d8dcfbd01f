//! The networks that the trainer knows, by name, and what is known of each.
use super::objective::Objective;
use super::shape::Shape;
use super::stage::Stage;
use super::zoo::bert::{self, Size};
use super::zoo::resnet::{self, Block};
use super::zoo::{
    alexnet, char_cnn, dcgan, densenet, dqn, inception_v1, lenet, lstm, mobilenet_v1, mobilenet_v2, seq2seq,
    squeezenet, vgg, xception,
};
use crate::data::{TextLabels, TextTokens, Texts};

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
    /// A language model: embedding, two layers of LSTM, a linear layer.
    #[value(name = "lstm")]
    Lstm,
    /// The small character-level CNN, for texts of 1014 characters.
    #[value(name = "char_cnn")]
    CharCnn,
    /// GRU encoder and decoder with attention between them.
    #[value(name = "seq2seq")]
    Seq2Seq,
    /// BERT-base with a head that tells classes apart.
    #[value(name = "bert_base")]
    BertBase,
    /// The smallest published BERT: two layers of 128.
    #[value(name = "bert_tiny")]
    BertTiny,
    /// DCGAN as PyTorch's example builds it: a generator and a discriminator for images of 64 x 64.
    Dcgan,
    /// The deep Q-network of Mnih et al. (2015), which plays a built-in game of catch.
    Dqn,
}

/// What is known of a network.
struct Facts {
    name: &'static str,
    /// The input that the reference implementation is for.
    input: Shape,
    paper: &'static str,
}

/// Classes of the last layer in image networks, unless the user says otherwise: those of ImageNet.
const CLASSES: u64 = 1000;
/// The same in language models: characters that they know.
const CHARACTERS: u64 = 128;

impl ModelName {
    /// The two that the demo compares.
    pub const DEMO: [ModelName; 2] = [ModelName::MobileNetV1, ModelName::ResNet18];

    /// The name on the command line and in the timeline.
    pub fn as_str(self) -> &'static str {
        self.facts().name
    }

    /// The input that the reference implementation is for.
    pub fn input(self) -> Shape {
        self.facts().input
    }

    /// Its input in another size: images of another side, texts of another length. A network with a size of its own has no
    /// other.
    pub fn input_of(self, size: u64) -> Shape {
        if self.own_size().is_some() { self.input() } else { self.input().resized(size) }
    }

    /// What it learns.
    pub fn objective(self) -> Objective {
        match self {
            ModelName::Dcgan => Objective::Adversarial,
            ModelName::Dqn => Objective::QLearning,
            _ => Objective::Classes,
        }
    }

    /// The stages of what runs beside it in training and learns nothing by itself.
    pub fn frozen_stages(self) -> Vec<Stage> {
        if self == ModelName::Dqn { dqn::target() } else { Vec::new() }
    }

    /// The side of the images that it works on, where no other can be asked for.
    pub fn own_size(self) -> Option<u64> {
        match self {
            ModelName::Dcgan => Some(dcgan::SIDE),
            ModelName::Dqn => Some(dqn::SIDE),
            _ => None,
        }
    }

    /// The size of what its reference reads: the side of images, the length of texts.
    pub fn reference_size(self) -> u64 {
        self.own_size().unwrap_or_else(|| self.input().size())
    }

    /// What it reads in such a size, in words.
    pub fn input_text(self, size: u64) -> String {
        let input = self.input_of(size);
        if self.reads_text() { format!("texts of {input}") } else { format!("images of {input}") }
    }

    /// Where it was published.
    pub fn paper(self) -> &'static str {
        self.facts().paper
    }

    /// What it reads when it reads texts; none when it reads images. `classes` are those of its last layer.
    pub fn texts(self, classes: u64) -> Option<Texts> {
        let of = |tokens, labels| Some(Texts { tokens, labels });
        match self {
            ModelName::Lstm | ModelName::Seq2Seq => {
                of(TextTokens::Characters { vocabulary: classes }, TextLabels::Next)
            }
            ModelName::CharCnn => of(TextTokens::Alphabet, TextLabels::File { classes }),
            ModelName::BertBase | ModelName::BertTiny => {
                of(TextTokens::Words { vocabulary: bert::VOCABULARY }, TextLabels::File { classes })
            }
            _ => None,
        }
    }

    /// Whether it reads texts, and not images.
    pub fn reads_text(self) -> bool {
        matches!(self.input(), Shape::Tokens { .. })
    }

    /// Classes of the last layer, unless the user says otherwise.
    pub fn default_classes(self) -> u64 {
        match self {
            ModelName::Lstm | ModelName::Seq2Seq => CHARACTERS,
            // One probability; one number for each action.
            ModelName::Dcgan => 1,
            ModelName::Dqn => dqn::ACTIONS,
            _ => CLASSES,
        }
    }

    /// Classes of the data that the reference implementation is for.
    pub fn reference_classes(self) -> u64 {
        match self {
            ModelName::LeNet5 | ModelName::DenseNet40 | ModelName::DenseNetBc100 => 10,
            // Zhang et al. begin with the four kinds of news of AG; Hugging Face's default is two labels.
            ModelName::CharCnn => 4,
            ModelName::BertBase | ModelName::BertTiny => 2,
            other => other.default_classes(),
        }
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
            ModelName::Lstm => lstm::stages(classes),
            ModelName::CharCnn => char_cnn::stages(classes),
            ModelName::Seq2Seq => seq2seq::stages(classes),
            ModelName::BertBase => bert::stages(Size { layers: 12, features: 768, heads: 12 }, classes),
            ModelName::BertTiny => bert::stages(Size { layers: 2, features: 128, heads: 2 }, classes),
            ModelName::Dcgan => dcgan::stages(),
            ModelName::Dqn => dqn::policy(),
        }
    }

    fn facts(self) -> Facts {
        let of = |name, side, paper| Facts { name, input: Shape::Maps { channels: 3, side }, paper };
        let text = |name, length, paper| Facts { name, input: Shape::Tokens { length }, paper };
        match self {
            ModelName::LeNet5 => {
                Facts { name: "lenet5", input: Shape::Maps { channels: 1, side: 32 }, paper: "doi:10.1109/5.726791" }
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
            ModelName::Lstm => text("lstm", 20, "arXiv:1409.2329"),
            ModelName::CharCnn => text("char_cnn", 1014, "arXiv:1509.01626"),
            ModelName::Seq2Seq => text("seq2seq", 100, "arXiv:1508.04025"),
            ModelName::BertBase => text("bert_base", 128, "arXiv:1810.04805"),
            ModelName::BertTiny => text("bert_tiny", 128, "arXiv:1908.08962"),
            ModelName::Dcgan => {
                let input = Shape::Maps { channels: dcgan::NOISE, side: 1 };
                Facts { name: "dcgan", input, paper: "arXiv:1511.06434" }
            }
            ModelName::Dqn => {
                let input = Shape::Maps { channels: dqn::FRAMES, side: dqn::SIDE };
                Facts { name: "dqn", input, paper: "doi:10.1038/nature14236" }
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
mod tests;
