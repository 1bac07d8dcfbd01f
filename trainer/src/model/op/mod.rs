//! What one stage of a network does to the maps that reach it.
//!
//! `Op` has what works on images, and what works on anything; `sequence` has what works on texts.
mod sequence;
mod window;

pub use self::sequence::{Half, Row, SequenceOp};
pub use self::window::Window;

/// What a stage does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A convolution.
    Conv(Conv),
    /// Batch normalisation with weight, bias and running statistics.
    BatchNorm {
        /// Channels, in and out.
        channels: u64,
    },
    /// max(x, 0).
    Relu(Place),
    /// min(max(x, 0), 6), in place.
    Relu6,
    /// The largest value of each window.
    MaxPool(Window),
    /// The mean of each window.
    AvgPool(Window),
    /// The mean over windows chosen so that `side` x `side` of them cover a map.
    AdaptiveAvgPool {
        /// Height and width of the result.
        side: u64,
    },
    /// [N, C, H, W] -> [N, C x H x W], without a copy.
    Flatten,
    /// The maps one behind the other along the channels.
    Concat,
    /// The sum of two maps.
    Add(Place),
    /// In training sets a random part of the elements to 0 and scales the others.
    Dropout {
        /// The part, in percent.
        percent: u64,
        /// Where the result lies.
        place: Place,
    },
    /// A fully connected layer with bias: [N, from] -> [N, to]; of a sequence, the same layer at each place.
    Linear {
        /// Features in.
        from: u64,
        /// Features out.
        to: u64,
    },
    /// The hyperbolic tangent.
    Tanh,
    /// What only networks over sequences do.
    Sequence(SequenceOp),
}

/// Where an operator leaves its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the storage of its first input, which is lost.
    InPlace,
    /// In a storage of its own.
    New,
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
    /// Whether a number for each channel is added.
    pub bias: bool,
}

impl Op {
    /// A convolution without bias.
    pub fn conv(from: u64, to: u64, kernel: u64, stride: u64, padding: u64) -> Op {
        Op::Conv(Conv { from, to, window: Window::new(kernel, stride, padding), groups: 1, bias: false })
    }

    /// A convolution with bias.
    pub fn biased_conv(from: u64, to: u64, kernel: u64, stride: u64, padding: u64) -> Op {
        Op::Conv(Conv { from, to, window: Window::new(kernel, stride, padding), groups: 1, bias: true })
    }

    /// A depthwise 3x3 convolution without bias: each channel has a kernel of its own.
    pub fn depthwise(channels: u64, stride: u64) -> Op {
        let window = Window::new(3, stride, 1);
        Op::Conv(Conv { from: channels, to: channels, window, groups: channels, bias: false })
    }

    /// Trainable elements.
    pub fn parameters(self) -> u64 {
        match self {
            Op::Conv(conv) => {
                let kernel = (conv.from / conv.groups) * conv.window.kernel * conv.window.kernel;
                conv.to * (kernel + u64::from(conv.bias))
            }
            Op::BatchNorm { channels } => 2 * channels,
            Op::Linear { from, to } => from * to + to,
            Op::Sequence(op) => op.parameters(),
            _ => 0,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_one_stage() {
        assert_eq!(Op::conv(3, 64, 7, 2, 3).parameters(), 9_408, "64 x 3 x 7 x 7");
        assert_eq!(Op::biased_conv(3, 64, 11, 4, 2).parameters(), 23_296, "64 x 3 x 11 x 11 + 64");
        assert_eq!(Op::depthwise(32, 1).parameters(), 288, "32 x 1 x 3 x 3");
        assert_eq!(Op::BatchNorm { channels: 64 }.parameters(), 128, "a weight and a bias per channel");
        assert_eq!(Op::Linear { from: 512, to: 1000 }.parameters(), 513_000, "512 x 1000 weights, 1000 biases");
    }
}
