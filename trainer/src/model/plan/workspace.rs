//! The workspace that oneDNN's LSTM keeps from the forward to the backward pass.
//!
//! `set_workspace_sizes` and `set_offsets` of oneDNN (src/cpu/rnn/rnn_utils.hpp and .cpp), for one layer in one direction in
//! f32, as `mkldnn_rnn_layer` of libtorch asks for it: parts one behind the other, each from a page's beginning on.
use crate::model::shape::F32;

/// What each part begins at a multiple of.
const PAGE: u64 = 4096;
/// Bytes that the rows of a matrix are a multiple of.
const LINE: u64 = 64;

/// Bytes for `batch` texts of `length` places, with `from` features in and `to` of a state.
pub(super) fn of_lstm(batch: u64, length: u64, from: u64, to: u64) -> u64 {
    let states = 2 * (length + 1) * batch;
    let wide = row(from.max(to));
    let parts = [
        length * batch * row(4 * to), // gates
        length * batch * row(to),     // states before a projection, which is there without one as well
        states * wide,                // states
        states * to,                  // cells
        states * wide,                // gradients by layer
        states * wide,                // gradients of states
        states * to,                  // gradients of cells
    ];
    parts.into_iter().map(|elements| (elements * F32).next_multiple_of(PAGE)).sum()
}

/// Elements from one row of a matrix to the next (`get_good_ld`): whole lines, and no multiple of 256 elements.
fn row(elements: u64) -> u64 {
    let line = LINE / F32;
    let whole = elements.next_multiple_of(line);
    if whole.is_multiple_of(256) { whole + line } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        assert_eq!([200, 208, 256, 512, 800].map(row), [208, 208, 272, 528, 800]);
    }

    /// 2 texts of 5 places, 200 features: gates 32,000 B, projection 8,320, states 19,968 and cells 19,200, and the gradients of
    /// these 19,968 twice and 19,200: 8, 3, 5, 5, 5, 5 and 5 pages.
    #[test]
    fn pages() {
        assert_eq!(of_lstm(2, 5, 200, 200), 36 * 4096);
    }
}
