//! A rule: why the graph of a training step keeps a tensor until the backward pass.
//!
//! The rules are constants, and each stands beside the code that computes how many bytes it keeps: `images`, `recurrent`,
//! `sequence` and `loss`. A storage cannot be kept without one, so what `trainer plan --rules` prints is what was computed.
use serde::Serialize;

/// Why a storage is kept.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The operator that needs it: `convolution`.
    pub operator: &'static str,
    /// What of the operator it is: `input`, `result`.
    pub keeps: &'static str,
    /// What the backward pass needs it for.
    pub sentence: &'static str,
    /// What holds it in libtorch; none where the program itself does.
    pub node: Option<Node>,
    /// Where that is written: files of PyTorch 2.11, or of this repository, with the entry or the function.
    pub sources: &'static [&'static str],
}

/// A kind of node of libtorch's autograd graph, and one of the tensors that it saves. `torch/csrc/autograd/generated/Functions.h`
/// has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// `ConvolutionBackward0`
    pub name: &'static str,
    /// The tensor's name there, without the underscore at its end: `input`.
    pub tensor: &'static str,
}

impl Rule {
    /// A rule about the `tensor` that a `node` of the graph saves.
    pub(super) const fn of_node(
        [operator, keeps]: [&'static str; 2],
        [node, tensor]: [&'static str; 2],
        sentence: &'static str,
        sources: &'static [&'static str],
    ) -> Rule {
        Rule { operator, keeps, sentence, node: Some(Node { name: node, tensor }), sources }
    }

    /// Its name: `convolution: input`.
    pub fn name(&self) -> String {
        format!("{}: {}", self.operator, self.keeps)
    }
}
