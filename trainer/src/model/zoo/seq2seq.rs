//! Sequence to sequence with attention (Luong et al., 2015, the global one with dot products), named as in PyTorch's chatbot
//! tutorial: one layer of gated recurrent units on either side.
//!
//! The first half of the text is the source, the second the target. The decoder reads the target itself, and not what it said
//! before (teacher forcing), so that it runs over all places at once, and the attention is two matrix products.
use crate::model::op::{Half, Op, SequenceOp};
use crate::model::stage::{Chain, INPUT, Stage};

/// Features of a token and of a state.
const WIDTH: u64 = 256;

/// The stages for a vocabulary of so many tokens; what comes out tells the next token at each place of the target.
pub(in crate::model) fn stages(vocabulary: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    let embedding = Op::Sequence(SequenceOp::Embedding { rows: vocabulary, features: WIDTH });
    let recurrent = Op::Sequence(SequenceOp::Gru { from: WIDTH, to: WIDTH });
    chain.then("encoder", Op::Sequence(SequenceOp::Half(Half::First)));
    chain.then("encoder.embedding", embedding);
    let source = chain.then("encoder.gru", recurrent);

    chain.branch(INPUT);
    chain.then("decoder", Op::Sequence(SequenceOp::Half(Half::Second)));
    let target = chain.then("decoder.embedding", embedding);
    let state = chain.read("decoder.gru", recurrent, vec![target, source]);

    chain.read("decoder.attn", Op::Sequence(SequenceOp::Scores { scaled: false }), vec![state, source]);
    let shares = chain.then("decoder.attn", Op::Sequence(SequenceOp::Softmax));
    let context = chain.read("decoder.attn", Op::Sequence(SequenceOp::Weigh), vec![shares, source]);
    chain.read("decoder", Op::Sequence(SequenceOp::ConcatFeatures), vec![state, context]);
    chain.then("decoder.concat", Op::Linear { from: 2 * WIDTH, to: WIDTH });
    chain.then("decoder", Op::Tanh);
    chain.then("decoder.out", Op::Linear { from: WIDTH, to: vocabulary });
    chain.into_stages()
}
