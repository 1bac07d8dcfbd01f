//! The networks that the trainer knows, by name, and what is known of each.
use super::shape::Shape;
use super::stage::Stage;
use super::zoo::bert::{self, Size};
use super::zoo::resnet::{self, Block};
use super::zoo::{
    alexnet, char_cnn, densenet, inception_v1, lenet, lstm, mobilenet_v1, mobilenet_v2, seq2seq, squeezenet, vgg,
    xception,
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

    /// Its input in another size: images of another side, texts of another length.
    pub fn input_of(self, size: u64) -> Shape {
        self.input().resized(size)
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
                _ => Shape::Vector { features: 10 },
            };
            assert_eq!(shapes.last(), Some(&expected), "{model}");
        }
    }

    /// Whether it writes over the first map that it reads.
    fn is_in_place(op: Op) -> bool {
        match op {
            Op::Relu(place) | Op::Add(place) | Op::Dropout { place, .. } => place == Place::InPlace,
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
}
