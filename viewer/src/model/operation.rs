//! What an operator computes, forward and backward under one name: `aten::conv2d` and `ConvolutionBackward0` are both a
//! convolution.

/// Parts of operators' names in small letters without separators, and what these operators compute. The first that fits
/// counts.
const OPERATIONS: [(&str, &str); 20] = [
    ("accumulategrad", "gradient accumulation"),
    ("embedding", "embedding"),
    ("batchnorm", "batch norm"),
    ("layernorm", "layer norm"),
    ("conv", "convolution"),
    ("pool", "pooling"),
    ("hardtanh", "ReLU"),
    ("relu", "ReLU"),
    ("threshold", "ReLU"),
    ("lstm", "LSTM"),
    ("dropout", "dropout"),
    ("softmax", "softmax"),
    ("nllloss", "loss"),
    ("crossentropy", "loss"),
    ("addmm", "matrix product"),
    ("linear", "matrix product"),
    ("matmul", "matrix product"),
    ("bmm", "matrix product"),
    ("mm", "matrix product"),
    ("cat", "concatenation"),
];

/// What `op` computes; its own name where that is not known.
///
/// ```
/// assert_eq!(viewer::model::operation_of("aten::conv2d"), "convolution");
/// assert_eq!(viewer::model::operation_of("NativeBatchNormBackward0"), "batch norm");
/// assert_eq!(viewer::model::operation_of("aten::add_"), "add");
/// assert_eq!(viewer::model::operation_of("AddBackward0"), "add");
/// ```
pub fn operation_of(op: &str) -> String {
    let last = op.rsplit("::").next().unwrap_or(op);
    let forward = last.find("Backward").map_or(last, |at| &last[..at]);
    let plain: String = forward.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let known = OPERATIONS
        .iter()
        .find(|(part, _)| if *part == "mm" || *part == "cat" { plain == *part } else { plain.contains(part) });
    match known {
        Some((_, operation)) => (*operation).to_owned(),
        None if plain.is_empty() || op == alloc_timeline::NONE => op.to_owned(),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forward_and_backward_have_one_name() {
        for (forward, backward, operation) in [
            ("aten::conv2d", "ConvolutionBackward0", "convolution"),
            ("aten::batch_norm", "NativeBatchNormBackward0", "batch norm"),
            ("aten::relu_", "ReluBackward0", "ReLU"),
            ("aten::hardtanh", "HardtanhBackward0", "ReLU"),
            ("aten::max_pool2d", "MaxPool2DWithIndicesBackward0", "pooling"),
            ("aten::linear", "AddmmBackward0", "matrix product"),
            ("aten::nll_loss_nd", "NllLossBackward0", "loss"),
            ("aten::log_softmax", "LogSoftmaxBackward0", "softmax"),
            ("aten::add", "AddBackward0", "add"),
            ("aten::cat", "CatBackward0", "concatenation"),
        ] {
            assert_eq!((operation_of(forward), operation_of(backward)), (operation.to_owned(), operation.to_owned()));
        }
        assert_eq!(operation_of("torch::autograd::AccumulateGrad"), "gradient accumulation");
        assert_eq!(operation_of(alloc_timeline::NONE), alloc_timeline::NONE);
    }
}
