//! The shapes that the stages of networks over sequences leave.
use super::kinds::Shape;
use super::misfit::Misfit;
use crate::model::op::{Row, SequenceOp};

/// What the stage `name` leaves of what it reads.
pub(super) fn left_by(op: SequenceOp, name: &str, reads: &[Shape]) -> Result<Shape, Misfit> {
    let stage = || name.to_owned();
    let takes = |takes: u64, reach: u64| {
        if takes == reach { Ok(()) } else { Err(Misfit::Channels { stage: stage(), takes, reach }) }
    };
    let other = reads[reads.len() - 1];
    let differ = || Misfit::Meeting { stage: stage(), one: reads[0], other };
    if reads[0].elements() == 0 {
        return Err(Misfit::Empty { stage: stage() });
    }
    Ok(match (op, reads[0], other) {
        (SequenceOp::Half(_), Shape::Tokens { length }, _) => {
            if !length.is_multiple_of(2) {
                return Err(Misfit::Odd { stage: stage(), length });
            }
            Shape::Tokens { length: length / 2 }
        }
        (SequenceOp::Embedding { features, .. }, Shape::Tokens { length }, _) => Shape::Sequence { length, features },
        (SequenceOp::AddEmbedding { rows, features, row }, Shape::Sequence { length, .. }, _) => {
            takes(features, reads[0].features())?;
            if row == Row::OfPlace && length > rows {
                return Err(Misfit::Long { stage: stage(), most: rows, length });
            }
            reads[0]
        }
        (SequenceOp::OneHot { channels }, Shape::Tokens { length }, _) => Shape::Channels { channels, length },
        (SequenceOp::Conv1d { from, to, kernel }, Shape::Channels { channels, length }, _) => {
            takes(from, channels)?;
            let room = length.checked_sub(kernel).ok_or_else(|| Misfit::Short { stage: stage(), kernel, length })?;
            Shape::Channels { channels: to, length: room + 1 }
        }
        (SequenceOp::MaxPool1d { kernel }, Shape::Channels { channels, length }, _) => {
            if length < kernel {
                return Err(Misfit::Short { stage: stage(), kernel, length });
            }
            Shape::Channels { channels, length: length / kernel }
        }
        (SequenceOp::Lstm { from, to, .. }, Shape::Sequence { length, features }, _) => {
            takes(from, features)?;
            Shape::Sequence { length, features: to }
        }
        (
            SequenceOp::Gru { from, to },
            Shape::Sequence { length, features },
            Shape::Sequence { features: state, .. },
        ) => {
            takes(from, features)?;
            if reads.len() > 1 {
                takes(to, state)?;
            }
            Shape::Sequence { length, features: to }
        }
        (SequenceOp::LayerNorm { features }, shape, _) => {
            takes(features, shape.features())?;
            shape
        }
        (SequenceOp::Gelu | SequenceOp::Softmax, shape, _) => shape,
        (SequenceOp::SplitHeads { heads }, Shape::Sequence { length, features }, _) => {
            Shape::Heads { heads, length, features: features / heads }
        }
        (SequenceOp::MergeHeads, Shape::Heads { heads, length, features }, _) => {
            Shape::Sequence { length, features: heads * features }
        }
        (SequenceOp::Scores { .. }, queries, keys) => {
            if queries.resized(1) != keys.resized(1) {
                return Err(differ());
            }
            queries.with_features(keys.size())
        }
        (SequenceOp::Weigh, shares, values) => {
            if shares.features() != values.size() {
                return Err(differ());
            }
            shares.with_features(values.features())
        }
        (SequenceOp::ConcatFeatures, Shape::Sequence { length, features }, Shape::Sequence { features: more, .. }) => {
            if length != other.size() {
                return Err(differ());
            }
            Shape::Sequence { length, features: features + more }
        }
        (SequenceOp::First, Shape::Sequence { features, .. }, _) => Shape::Vector { features },
        (_, reach, _) => return Err(Misfit::Kind { stage: stage(), reach }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(length: u64, features: u64) -> Shape {
        Shape::Sequence { length, features }
    }

    /// Queries [5, 8] against keys [7, 8] are scores [5, 7]; means of values [7, 8] are [5, 8] again.
    #[test]
    fn attention_over_another_sequence() {
        let scores = left_by(SequenceOp::Scores { scaled: true }, "a", &[sequence(5, 8), sequence(7, 8)]);
        assert_eq!(scores, Ok(sequence(5, 7)));
        assert_eq!(left_by(SequenceOp::Weigh, "a", &[sequence(5, 7), sequence(7, 8)]), Ok(sequence(5, 8)));
        let problem = left_by(SequenceOp::Weigh, "a", &[sequence(5, 7), sequence(6, 8)]);
        assert!(matches!(problem, Err(Misfit::Meeting { .. })), "shares of 7 places, and 6 are there");
    }

    #[test]
    fn windows_along_a_sequence() {
        let channels = |channels, length| Shape::Channels { channels, length };
        let conv = SequenceOp::Conv1d { from: 70, to: 256, kernel: 7 };
        assert_eq!(left_by(conv, "conv", &[channels(70, 1014)]), Ok(channels(256, 1008)));
        let short = Misfit::Short { stage: "conv".to_owned(), kernel: 7, length: 6 };
        assert_eq!(left_by(conv, "conv", &[channels(70, 6)]), Err(short));
        let pool = SequenceOp::MaxPool1d { kernel: 3 };
        assert_eq!(left_by(pool, "pool", &[channels(256, 110)]), Ok(channels(256, 36)), "the last two are left out");
    }

    #[test]
    fn lengths_that_cannot_be() {
        let tokens = |length| [Shape::Tokens { length }];
        let half = SequenceOp::Half(crate::model::op::Half::First);
        assert_eq!(left_by(half, "a", &tokens(8)), Ok(Shape::Tokens { length: 4 }));
        assert_eq!(left_by(half, "a", &tokens(7)), Err(Misfit::Odd { stage: "a".to_owned(), length: 7 }));
        assert_eq!(left_by(half, "a", &tokens(0)), Err(Misfit::Empty { stage: "a".to_owned() }));
        let places = SequenceOp::AddEmbedding { rows: 512, features: 8, row: Row::OfPlace };
        assert_eq!(left_by(places, "a", &[sequence(512, 8)]), Ok(sequence(512, 8)));
        assert!(matches!(left_by(places, "a", &[sequence(513, 8)]), Err(Misfit::Long { most: 512, length: 513, .. })));
    }
}
