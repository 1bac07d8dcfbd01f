//! BERT (Devlin et al., 2018) as an encoder with a head that tells classes apart, module for module as Hugging Face's
//! `BertForSequenceClassification` with its attention written out (`eager`).
//!
//! ```text
//! query  key  value       each [N, L, features] -> [N, heads, L, features / heads]
//!    \   /      |
//!   scores      |         query x key transposed, divided by the root of the features of a head
//!  softmax      |
//!  dropout      |
//!      \       /
//!       weigh             [N, heads, L, features / heads] -> [N, L, features]
//! ```
use crate::model::op::{Op, Place, Row, SequenceOp};
use crate::model::stage::{Chain, Map, Stage};

/// Pieces of words that the published models know.
pub(in crate::model) const VOCABULARY: u64 = 30_522;
/// Places that a text may have.
const PLACES: u64 = 512;
/// Kinds of segments; all our texts are one segment.
const SEGMENTS: u64 = 2;

/// How large the encoder is.
#[derive(Clone, Copy)]
pub(in crate::model) struct Size {
    pub(in crate::model) layers: u64,
    pub(in crate::model) features: u64,
    pub(in crate::model) heads: u64,
}

/// The stages for texts of at most 512 tokens.
pub(in crate::model) fn stages(size: Size, classes: u64) -> Vec<Stage> {
    let Size { layers, features, .. } = size;
    let mut chain = Chain::default();
    let name = |part: &str| format!("bert.embeddings.{part}");
    chain.then(name("word_embeddings"), Op::Sequence(SequenceOp::Embedding { rows: VOCABULARY, features }));
    for (part, rows, row) in
        [("token_type_embeddings", SEGMENTS, Row::Zero), ("position_embeddings", PLACES, Row::OfPlace)]
    {
        chain.then(name(part), Op::Sequence(SequenceOp::AddEmbedding { rows, features, row }));
    }
    chain.then(name("LayerNorm"), Op::Sequence(SequenceOp::LayerNorm { features }));
    chain.then(name("dropout"), DROPOUT);
    for index in 0..layers {
        layer(&mut chain, &format!("bert.encoder.layer.{index}"), size);
    }
    chain.then("bert.pooler", Op::Sequence(SequenceOp::First));
    chain.then("bert.pooler.dense", Op::Linear { from: features, to: features });
    chain.then("bert.pooler.activation", Op::Tanh);
    chain.then("dropout", DROPOUT);
    chain.then("classifier", Op::Linear { from: features, to: classes });
    chain.into_stages()
}

/// One of ten is dropped, everywhere.
const DROPOUT: Op = Op::Dropout { percent: 10, place: Place::New };

/// One layer of the encoder: attention, then two full layers, each with a shortcut around it.
fn layer(chain: &mut Chain, name: &str, size: Size) {
    let Size { features, .. } = size;
    let before = chain.end();
    attention(chain, &format!("{name}.attention.self"), size);
    close(chain, &format!("{name}.attention.output"), features, features, before);
    let before = chain.end();
    chain.then(format!("{name}.intermediate.dense"), Op::Linear { from: features, to: 4 * features });
    chain.then(format!("{name}.intermediate.intermediate_act_fn"), Op::Sequence(SequenceOp::Gelu));
    close(chain, &format!("{name}.output"), 4 * features, features, before);
}

/// Attention of every place to every place, in several heads.
fn attention(chain: &mut Chain, name: &str, Size { features, heads, .. }: Size) {
    let before = chain.end();
    let [query, key, value]: [Map; 3] = ["query", "key", "value"].map(|part| {
        chain.branch(before);
        chain.then(format!("{name}.{part}"), Op::Linear { from: features, to: features });
        chain.then(name, Op::Sequence(SequenceOp::SplitHeads { heads }))
    });
    chain.read(name, Op::Sequence(SequenceOp::Scores { scaled: true }), vec![query, key]);
    chain.then(name, Op::Sequence(SequenceOp::Softmax));
    let shares = chain.then(format!("{name}.dropout"), DROPOUT);
    chain.read(name, Op::Sequence(SequenceOp::Weigh), vec![shares, value]);
    chain.then(name, Op::Sequence(SequenceOp::MergeHeads));
}

/// A full layer, dropout, the sum with what was there before, and layer norm.
fn close(chain: &mut Chain, name: &str, from: u64, to: u64, before: Map) {
    chain.then(format!("{name}.dense"), Op::Linear { from, to });
    chain.then(format!("{name}.dropout"), DROPOUT);
    chain.residual(name, before, Vec::new(), Place::New);
    chain.then(format!("{name}.LayerNorm"), Op::Sequence(SequenceOp::LayerNorm { features: to }));
}
