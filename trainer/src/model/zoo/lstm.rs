//! A language model with long short-term memory: the small one of Zaremba et al. (2014), without dropout, its layers named as
//! in PyTorch's example `word_language_model`.
use crate::model::op::{Op, SequenceOp};
use crate::model::stage::{Chain, Stage};

/// Features of a token and of a state.
const WIDTH: u64 = 200;

/// The stages for a vocabulary of so many tokens; what comes out tells the next token at each place.
pub(in crate::model) fn stages(vocabulary: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    chain.then("encoder", Op::Sequence(SequenceOp::Embedding { rows: vocabulary, features: WIDTH }));
    chain.then("rnn", Op::Sequence(SequenceOp::Lstm { from: WIDTH, to: WIDTH, layers: 2 }));
    chain.then("decoder", Op::Linear { from: WIDTH, to: vocabulary });
    chain.into_stages()
}
