//! What only networks over sequences do: texts as numbers, recurrent layers, attention.

/// What a stage of a network over sequences does.
///
/// `N` is the batch, `L` the length. A sequence is `[N, L, features]`, but for one-dimensional convolutions, which take the
/// features first: `[N, channels, L]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceOp {
    /// Half of the tokens: [N, L] -> [N, L / 2], a view.
    Half(Half),
    /// A row of a table for each token: [N, L] -> [N, L, features].
    Embedding {
        /// Rows of the table: the size of the vocabulary.
        rows: u64,
        /// Elements of a row.
        features: u64,
    },
    /// Adds, in place, the row of a table for each place of the sequence, or its first row to each.
    AddEmbedding {
        /// Rows of the table.
        rows: u64,
        /// Elements of a row.
        features: u64,
        /// Which row goes to which place.
        row: Row,
    },
    /// 1 in the channel of each token and 0 in the others: [N, L] -> [N, channels, L]. Token 0 has no channel.
    OneHot {
        /// Channels.
        channels: u64,
    },
    /// A convolution with bias along the length: [N, from, L] -> [N, to, L'].
    Conv1d {
        /// Channels in.
        from: u64,
        /// Channels out.
        to: u64,
        /// Places that it sees at a time.
        kernel: u64,
    },
    /// The largest value of each window along the length; windows do not overlap.
    MaxPool1d {
        /// Places of a window.
        kernel: u64,
    },
    /// Long short-term memory (`nn.LSTM` with biases), layer on layer, from a state of zeroes: [N, L, from] -> [N, L, to].
    Lstm {
        /// Features in.
        from: u64,
        /// Features of a state, and out.
        to: u64,
        /// Layers.
        layers: u64,
    },
    /// One layer of gated recurrent units (`nn.GRU` with biases): [N, L, from] -> [N, L, to]. Its first state is zero, or,
    /// when the stage reads a second sequence, the last place of that.
    Gru {
        /// Features in.
        from: u64,
        /// Features of a state, and out.
        to: u64,
    },
    /// Layer normalisation over the features, with weight and bias.
    LayerNorm {
        /// Features, in and out.
        features: u64,
    },
    /// x times the share of a normal distribution below x.
    Gelu,
    /// [N, L, features] -> [N, heads, L, features / heads].
    SplitHeads {
        /// Into how many.
        heads: u64,
    },
    /// [N, heads, L, features] -> [N, L, heads x features].
    MergeHeads,
    /// The first map times the second one transposed: how well each place of the first fits each of the second. With
    /// `scaled`, divided by the root of the features.
    Scores {
        /// Whether they are divided.
        scaled: bool,
    },
    /// Shares that sum to 1 over the last dimension.
    Softmax,
    /// The first map times the second: means of the second's places, weighted by the first.
    Weigh,
    /// The features of two sequences one behind the other.
    ConcatFeatures,
    /// The first place of a sequence, [N, L, features] -> [N, features]: a view.
    First,
}

/// A half of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The places before the middle.
    First,
    /// Those behind it.
    Second,
}

/// Which row of a table is added to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The row of the place's own number.
    OfPlace,
    /// Row 0, wherever it is.
    Zero,
}

impl SequenceOp {
    /// Trainable elements.
    pub fn parameters(self) -> u64 {
        match self {
            SequenceOp::Embedding { rows, features } | SequenceOp::AddEmbedding { rows, features, .. } => {
                rows * features
            }
            SequenceOp::Conv1d { from, to, kernel } => to * (from * kernel + 1),
            SequenceOp::Lstm { from, to, layers } => {
                let first = recurrent(4, from, to);
                first + (layers - 1) * recurrent(4, to, to)
            }
            SequenceOp::Gru { from, to } => recurrent(3, from, to),
            SequenceOp::LayerNorm { features } => 2 * features,
            _ => 0,
        }
    }
}

/// Elements of one recurrent layer: for each gate a matrix over the input and one over the state, and two biases.
fn recurrent(gates: u64, from: u64, to: u64) -> u64 {
    gates * to * (from + to + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sum(p.numel() for p in m.parameters())` of nn.LSTM(200, 200, 2), nn.GRU(128, 256) and so on, by hand.
    #[test]
    fn parameters_of_one_stage() {
        let lstm = SequenceOp::Lstm { from: 200, to: 200, layers: 2 };
        assert_eq!(lstm.parameters(), 643_200, "2 x (4 x 200 x 400 weights, 2 x 4 x 200 biases)");
        let gru = SequenceOp::Gru { from: 128, to: 256 };
        assert_eq!(gru.parameters(), 296_448, "3 x 256 x (128 + 256) weights, 2 x 3 x 256 biases");
        assert_eq!(SequenceOp::Conv1d { from: 70, to: 256, kernel: 7 }.parameters(), 125_696, "256 x 70 x 7 + 256");
        assert_eq!(SequenceOp::Embedding { rows: 30_522, features: 768 }.parameters(), 23_440_896);
        assert_eq!(SequenceOp::LayerNorm { features: 768 }.parameters(), 1_536, "a weight and a bias a feature");
    }
}
