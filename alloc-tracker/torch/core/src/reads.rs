//! Which of its inputs an operator reads.
//!
//! An operator reads all tensors that it takes, with three exceptions. One that only makes another view of a tensor, or a
//! tensor of the same shape, looks at no element. One that only writes to a tensor (`copy_`, `fill_`, ...) does not read
//! that one; other operators in place do. An operator that may do either, such as `reshape`, is taken for a view: when it
//! copies, it calls `copy_` for that, which tells of its own reads. What is not known here is a read: rather a read too
//! many, so that no storage is called unread that is not.
use crate::event::Storage;
use crate::operator_name::{is_in, of_libtorch};

/// Operators that read no element of any input, without their namespace, sorted.
const VIEWS: [&str; 64] = [
    "T",
    "_conj",
    "_foreach_zero_",
    "_neg_view",
    "_reshape_alias",
    "_unsafe_view",
    "alias",
    "as_strided",
    "as_strided_",
    "chunk",
    "contiguous",
    "data",
    "detach",
    "detach_",
    "diagonal",
    "expand",
    "expand_as",
    "flatten",
    "imag",
    "is_same_size",
    "lift_fresh",
    "mH",
    "mT",
    "moveaxis",
    "movedim",
    "narrow",
    "numpy_T",
    "permute",
    "ravel",
    "real",
    "requires_grad_",
    "reshape",
    "reshape_as",
    "resize_",
    "resize_as_",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "retain_grad",
    "select",
    "set_",
    "set_data",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "squeeze_",
    "swapaxes",
    "swapdims",
    "t",
    "t_",
    "tensor_split",
    "to",
    "transpose",
    "transpose_",
    "type_as",
    "unbind",
    "unfold",
    "unsafe_chunk",
    "unsafe_split",
    "unsqueeze",
    "unsqueeze_",
    "view",
    "view_as",
];

/// Operators that write to their first input without reading it, sorted.
const WRITERS: [&str; 8] = ["bernoulli_", "copy_", "exponential_", "fill_", "normal_", "random_", "uniform_", "zero_"];

/// Those of `inputs`, all that the operator takes, of which it reads elements.
pub(crate) fn read_by<'a>(operator: &[u8], inputs: &'a [Storage]) -> &'a [Storage] {
    // Whoever is not told of inputs pays nothing for their names.
    if inputs.is_empty() {
        return inputs;
    }
    let Some(name) = of_libtorch(operator) else { return inputs };
    if is_in(&WRITERS, name) {
        inputs.get(1..).unwrap_or_default()
    } else if is_in(&VIEWS, name) || name.ends_with(b"_like") || name.starts_with(b"new_") {
        &[]
    } else {
        inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted() {
        assert!(VIEWS.is_sorted() && WRITERS.is_sorted());
    }

    #[test]
    fn views_and_writers_read_less() {
        let inputs: Vec<Storage> = [0x1000, 0x2000].into_iter().filter_map(Storage::at).collect();
        let read = |operator: &str| read_by(operator.as_bytes(), &inputs).len();
        assert_eq!(["aten::view", "aten::t", "aten::zeros_like", "aten::new_empty"].map(read), [0; 4]);
        assert_eq!(read("aten::copy_"), 1, "the source");
        assert_eq!(read_by(b"aten::copy_", &inputs)[0].address(), 0x2000);
        assert_eq!(["aten::conv2d", "aten::add_", "aten::relu_", "my::view", "view"].map(read), [2; 5]);
        assert_eq!(read_by(b"aten::zero_", &[]), []);
    }
}
