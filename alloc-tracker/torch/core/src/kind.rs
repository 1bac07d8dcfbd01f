//! What a layer is, in words, from the arguments of its operator: a depthwise 3x3 convolution of 64 channels.
//!
//! An operator of which the words can be made has a row in [`KINDS`]: which of its arguments say them. The face is asked for
//! those when a layer runs such an operator for the first time. A layer that runs such operators with two weights is several
//! in one, of which nothing is said.
use std::fmt::Write;
use std::sync::LazyLock;

use alloc_tracker::hooks::Name;
use dashmap::DashMap;

use crate::event::{Operator, Storage};

const NAMESPACE: &[u8] = b"aten::";

/// What the words of an operator are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    Convolution,
    Transposed,
    Linear,
    Norm(&'static str),
    Embedding,
    /// How many rows of the weight there are for one feature.
    Recurrent(&'static str, i64),
}

/// An operator's name without its namespace, what its words are made of, and the numbers of its arguments that say them:
/// weight, stride, groups (0: it has none); last, which of the tensors that it takes the weight is.
type Kind = (&'static str, Words, [u8; 3], usize);

/// Sorted by name.
const KINDS: [Kind; 14] = [
    ("batch_norm", Words::Norm("batch norm"), [1, 0, 0], 1),
    ("conv1d", Words::Convolution, [1, 3, 6], 1),
    ("conv2d", Words::Convolution, [1, 3, 6], 1),
    ("conv3d", Words::Convolution, [1, 3, 6], 1),
    ("conv_transpose1d", Words::Transposed, [1, 3, 6], 1),
    ("conv_transpose2d", Words::Transposed, [1, 3, 6], 1),
    ("conv_transpose3d", Words::Transposed, [1, 3, 6], 1),
    ("embedding", Words::Embedding, [0, 0, 0], 0),
    ("group_norm", Words::Norm("group norm"), [2, 0, 1], 1),
    ("gru", Words::Recurrent("GRU", 3), [2, 0, 0], 2),
    ("layer_norm", Words::Norm("layer norm"), [2, 0, 0], 1),
    ("linear", Words::Linear, [1, 0, 0], 1),
    ("lstm", Words::Recurrent("LSTM", 4), [2, 0, 0], 3),
    ("rnn_tanh", Words::Recurrent("RNN", 1), [2, 0, 0], 2),
];

/// Which arguments of an operator the face is asked for, by number; 0 for `stride` and `groups`: the operator has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The weight; of a list of tensors the first.
    pub weight: u8,
    /// A list of whole numbers.
    pub stride: u8,
    /// A whole number.
    pub groups: u8,
}

/// The face's answer to a [`Question`].
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The weight's sizes.
    pub weight: &'a [i64],
    /// The stride; empty where there is none.
    pub stride: &'a [i64],
    /// The groups; 1 where there are none.
    pub groups: i64,
}

fn kind_of(operator: &[u8]) -> Option<&'static Kind> {
    let name = operator.strip_prefix(NAMESPACE)?;
    let place = KINDS.binary_search_by(|kind| kind.0.as_bytes().cmp(name)).ok()?;
    KINDS.get(place)
}

/// What is known of each layer.
pub(crate) struct LayerKinds(LazyLock<DashMap<Name, Known>>);

/// The weight that a layer's words were made of, by storage and by tensor; `None` for several layers in one.
type Known = Option<(Storage, usize)>;

/// What is to be done about a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The face is asked.
    Ask(Question),
    /// The layer is several: what was said of it is taken back.
    TakeBack,
    Nothing,
}

impl LayerKinds {
    pub(crate) const fn new() -> LayerKinds {
        LayerKinds(LazyLock::new(DashMap::new))
    }

    /// An operator starts in this layer.
    pub(crate) fn look(&self, layer: Name, operator: &Operator<'_>) -> News {
        let Some((_, _, [weight, stride, groups], place)) = kind_of(operator.name).copied() else {
            return News::Nothing;
        };
        let Some((&storage, &tensor)) = operator.inputs.get(place).zip(operator.tensors.get(place)) else {
            return News::Nothing;
        };
        let known = self.0.get(&layer).map(|known| *known);
        match known {
            None => {
                self.0.insert(layer, Some((storage, tensor)));
                News::Ask(Question { weight, stride, groups })
            }
            Some(Some(before)) if before.0 != storage && before.1 != tensor => {
                self.0.insert(layer, None);
                News::TakeBack
            }
            Some(_) => News::Nothing,
        }
    }
}

/// The words for an operator whose arguments are these; `None` when they are not as expected.
pub(crate) fn words(operator: &[u8], answer: &Answer<'_>) -> Option<String> {
    let (_, words, ..) = *kind_of(operator)?;
    let Answer { weight, stride, groups } = *answer;
    match (words, weight) {
        (Words::Convolution, [output, of_group, kernel @ ..]) => {
            Some(convolution("", of_group * groups, *output, kernel, stride, groups))
        }
        (Words::Transposed, [input, of_group, kernel @ ..]) => {
            Some(convolution("transposed ", *input, of_group * groups, kernel, stride, groups))
        }
        (Words::Linear, [output, input]) => Some(format!("linear, {input} to {output}")),
        (Words::Norm(norm), [channels]) if groups > 1 => {
            Some(format!("{norm} of {channels} channels in {groups} groups"))
        }
        (Words::Norm(norm), [channels]) => Some(format!("{norm} of {channels}")),
        (Words::Norm(norm), sizes) => Some(format!("{norm} of {}", by(sizes))),
        (Words::Embedding, [rows, features]) => Some(format!("embedding of {rows} rows, {features} each")),
        (Words::Recurrent(cell, gates), [rows, input]) => Some(format!("{cell}, {input} to {}", rows / gates)),
        _ => None,
    }
}

fn convolution(transposed: &str, input: i64, output: i64, kernel: &[i64], stride: &[i64], groups: i64) -> String {
    let is_depthwise = groups > 1 && groups == input;
    let depthwise = if is_depthwise { "depthwise " } else { "" };
    let kernel = if let [width] = kernel { format!("width-{width}") } else { by(kernel) };
    let mut text = format!("{depthwise}{transposed}{kernel} convolution");
    // Writing to a text does not fail.
    let _ = match input == output {
        true => write!(text, " of {input} channels"),
        false => write!(text, ", {input} to {output} channels"),
    };
    if groups > 1 && !is_depthwise {
        let _ = write!(text, ", {groups} groups");
    }
    match stride {
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            if *first != 1 {
                let _ = write!(text, ", stride {first}");
            }
        }
        [] => {}
        _ => {
            let _ = write!(text, ", stride {}", by(stride));
        }
    }
    text
}

/// `3x3`
fn by(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted() {
        assert!(KINDS.is_sorted_by_key(|kind| kind.0));
    }

    #[test]
    fn the_arguments_of_an_operator_say_what_its_layer_is() {
        for (operator, weight, stride, groups, expected) in [
            ("aten::conv2d", &[64, 1, 3, 3][..], &[1, 1][..], 64, "depthwise 3x3 convolution of 64 channels"),
            ("aten::conv2d", &[128, 1, 3, 3], &[2, 2], 64, "depthwise 3x3 convolution, 64 to 128 channels, stride 2"),
            ("aten::conv2d", &[64, 3, 7, 7], &[2, 2], 1, "7x7 convolution, 3 to 64 channels, stride 2"),
            ("aten::conv2d", &[24, 60, 1, 1], &[1, 1], 4, "1x1 convolution, 240 to 24 channels, 4 groups"),
            ("aten::conv1d", &[32, 8, 5], &[1], 1, "width-5 convolution, 8 to 32 channels"),
            ("aten::conv2d", &[8, 8, 1, 7], &[1, 2], 1, "1x7 convolution of 8 channels, stride 1x2"),
            (
                "aten::conv_transpose2d",
                &[100, 64, 4, 4],
                &[2, 2],
                1,
                "transposed 4x4 convolution, 100 to 64 channels, stride 2",
            ),
            ("aten::linear", &[10, 784], &[], 1, "linear, 784 to 10"),
            ("aten::batch_norm", &[64], &[], 1, "batch norm of 64"),
            ("aten::group_norm", &[64], &[], 8, "group norm of 64 channels in 8 groups"),
            ("aten::layer_norm", &[16, 32], &[], 1, "layer norm of 16x32"),
            ("aten::embedding", &[30522, 128], &[], 1, "embedding of 30522 rows, 128 each"),
            ("aten::lstm", &[256, 8], &[], 1, "LSTM, 8 to 64"),
        ] {
            let answer = Answer { weight, stride, groups };
            assert_eq!(words(operator.as_bytes(), &answer).as_deref(), Some(expected), "{operator}");
        }
        let odd = Answer { weight: &[10], stride: &[], groups: 1 };
        assert_eq!(words(b"aten::linear", &odd), None, "no weight of a linear layer");
        assert_eq!(words(b"aten::relu", &odd), None);
    }
}
