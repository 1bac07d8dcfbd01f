//! One named step of a network, and what it does to the maps that flow through.
//!
//! A network is a flat list of stages over two branches. The main branch starts with the images and ends with the
//! logits. A residual block forks the shortcut branch off it, runs its stages on either branch, and joins them:
//!
//! ```text
//! main     --+-- conv1 -- bn1 -- relu -- conv2 -- bn2 --(+)-- relu -->
//!            |fork                                       |join, in place
//! shortcut   +------------ downsample.0 -- downsample.1 -+
//! ```
//!
//! Names are those of the PyTorch modules, whole from the root, because each stage is entered as one layer scope.

/// One named step of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The PyTorch module's name: `layer1.0.conv1`. A module that runs twice in a block has two stages of one name.
    pub name: String,
    /// The branch that it reads and replaces.
    pub branch: Branch,
    /// What it does.
    pub op: Op,
}

/// Where maps flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// From the images to the logits.
    Main,
    /// Around the convolutions of a residual block.
    Shortcut,
}

/// What a stage does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A convolution without bias.
    Conv(Conv),
    /// Batch normalisation with weight, bias and running statistics.
    BatchNorm {
        /// Channels, in and out.
        channels: u64,
    },
    /// max(x, 0), in place.
    Relu,
    /// The largest value of each window.
    MaxPool(Window),
    /// The shortcut branch becomes the main branch's map: one more handle, no new storage.
    Fork,
    /// Adds the shortcut branch to the main branch in place, and empties the shortcut branch.
    Join,
    /// The mean of each map, then flattened: [N, C, H, W] -> [N, C].
    AvgPool,
    /// A fully connected layer with bias: [N, from] -> [N, to].
    Linear {
        /// Features in.
        from: u64,
        /// Features out.
        to: u64,
    },
}

/// A convolution [N, from, H, W] -> [N, to, H', W'].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv {
    /// Channels in.
    pub from: u64,
    /// Channels out.
    pub to: u64,
    /// The window that slides over each map.
    pub window: Window,
    /// 1 for a full convolution, `from` for a depthwise one.
    pub groups: u64,
}

/// A square window that slides over a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its side.
    pub kernel: u64,
    /// How far it moves at a time.
    pub stride: u64,
    /// Border around the map.
    pub padding: u64,
}

impl Window {
    /// Windows that fit along a side of `side` pixels, or `None` when not even one does.
    pub fn positions(self, side: u64) -> Option<u64> {
        (side + 2 * self.padding).checked_sub(self.kernel).map(|room| room / self.stride + 1)
    }
}

impl Op {
    /// Trainable elements.
    pub fn parameters(self) -> u64 {
        match self {
            Op::Conv(conv) => conv.to * (conv.from / conv.groups) * conv.window.kernel * conv.window.kernel,
            Op::BatchNorm { channels } => 2 * channels,
            Op::Linear { from, to } => from * to + to,
            Op::Relu | Op::MaxPool(_) | Op::Fork | Op::Join | Op::AvgPool => 0,
        }
    }

    /// Elements that are kept but not trained: batch norm's running mean and variance.
    pub fn buffers(self) -> u64 {
        match self {
            Op::BatchNorm { channels } => 2 * channels,
            _ => 0,
        }
    }
}

/// Builds a list of stages, one call per PyTorch module.
#[derive(Default)]
pub(super) struct StageList(pub(super) Vec<Stage>);

impl StageList {
    /// A stage on the main branch.
    pub(super) fn main(&mut self, name: impl Into<String>, op: Op) {
        self.0.push(Stage { name: name.into(), branch: Branch::Main, op });
    }

    /// A stage on the shortcut branch.
    pub(super) fn shortcut(&mut self, name: impl Into<String>, op: Op) {
        self.0.push(Stage { name: name.into(), branch: Branch::Shortcut, op });
    }
}

/// A full convolution.
pub(super) fn conv(from: u64, to: u64, kernel: u64, stride: u64, padding: u64) -> Op {
    Op::Conv(Conv { from, to, window: Window { kernel, stride, padding }, groups: 1 })
}

/// A depthwise 3x3 convolution: each channel has a kernel of its own.
pub(super) fn depthwise(channels: u64, stride: u64) -> Op {
    let window = Window { kernel: 3, stride, padding: 1 };
    Op::Conv(Conv { from: channels, to: channels, window, groups: channels })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// floor((h + 2p - k) / s) + 1, worked by hand.
    #[test]
    fn windows_along_a_side() {
        let stem = Window { kernel: 7, stride: 2, padding: 3 };
        assert_eq!(stem.positions(224), Some(112), "(224 + 6 - 7) / 2 = 111 rest 1");
        assert_eq!(stem.positions(97), Some(49), "(97 + 6 - 7) / 2 = 48");
        assert_eq!(stem.positions(1), Some(1), "(1 + 6 - 7) / 2 = 0");
        assert_eq!(stem.positions(0), None, "a window of 7 does not fit into 6 pixels of border");
    }

    #[test]
    fn parameters_of_one_stage() {
        assert_eq!(conv(3, 64, 7, 2, 3).parameters(), 9_408, "64 x 3 x 7 x 7");
        assert_eq!(depthwise(32, 1).parameters(), 288, "32 x 1 x 3 x 3");
        assert_eq!(Op::BatchNorm { channels: 64 }.parameters(), 128, "a weight and a bias per channel");
        assert_eq!(Op::Linear { from: 512, to: 1000 }.parameters(), 513_000, "512 x 1000 weights, 1000 biases");
    }
}
