//! The networks that the trainer knows, by name.
use super::stage::Stage;
use super::{mobilenet_v1, resnet18};

/// The networks that the trainer knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ModelName {
    /// MobileNetV1, width 1.0, with plain ReLU.
    #[value(name = "mobilenet_v1")]
    MobileNetV1,
    /// ResNet-18 as torchvision builds it.
    #[value(name = "resnet18")]
    ResNet18,
}

impl ModelName {
    /// All of them.
    pub const ALL: [ModelName; 2] = [ModelName::MobileNetV1, ModelName::ResNet18];

    /// The name on the command line and in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            ModelName::MobileNetV1 => "mobilenet_v1",
            ModelName::ResNet18 => "resnet18",
        }
    }

    /// The stages in the order in which they run, for images of 3 channels.
    pub fn stages(self, classes: u64) -> Vec<Stage> {
        match self {
            ModelName::MobileNetV1 => mobilenet_v1::stages(classes),
            ModelName::ResNet18 => resnet18::stages(classes),
        }
    }
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
