//! libtorch's leaky ReLU with a slope, which tch's own does not take.
use std::ffi::{c_char, c_void};

use tch::{Result, Tensor};

use crate::shim_failure::ShimFailure;

unsafe extern "C" {
    fn trainer_leaky_relu(
        tensor: *const c_void,
        slope: f64,
        in_place: bool,
        error: *mut c_char,
        room: usize,
    ) -> *mut c_void;
}

/// x where x > 0, else `slope` x. In place the result lies in the storage of `map`, which is lost.
pub(super) fn leaky_relu(map: &Tensor, slope: f64, in_place: bool) -> Result<Tensor> {
    let mut failure = ShimFailure::none();
    // SAFETY: `as_ptr` is the at::Tensor that `map` owns, alive for the call; there is as much room as is said. In place it
    // writes to the tensor's elements, as every function of tch that ends in `_` does on a shared handle.
    let result =
        unsafe { trainer_leaky_relu(map.as_ptr().cast(), slope, in_place, failure.as_mut_ptr(), ShimFailure::ROOM) };
    if result.is_null() {
        return Err(failure.error());
    }
    // SAFETY: it is a new at::Tensor, which is ours.
    Ok(unsafe { Tensor::from_ptr(result.cast()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(tensor: &Tensor) -> Vec<f32> {
        Vec::try_from(tensor).expect("one dimension of f32")
    }

    /// With a slope of 0.25, -4 becomes -1; its gradient is 0.25, that of a positive number 1.
    #[test]
    fn a_slope_of_a_quarter() {
        let x = Tensor::from_slice(&[-4.0f32, 0.0, 2.0]).set_requires_grad(true);
        let y = leaky_relu(&x, 0.25, false).expect("runs");
        assert_eq!(values(&y), [-1.0, 0.0, 2.0]);
        y.sum(tch::Kind::Float).backward();
        assert_eq!(values(&x.grad()), [0.25, 0.25, 1.0]);
    }

    #[test]
    fn in_place_it_is_the_same_storage() {
        let x = Tensor::from_slice(&[-4.0f32, 2.0]);
        let y = leaky_relu(&x, 0.25, true).expect("runs");
        assert_eq!((values(&x), x.data_ptr()), (values(&y), y.data_ptr()));
        assert_eq!(values(&x), [-1.0, 2.0]);
    }

    /// A leaf that wants a gradient must not be written over.
    #[test]
    fn a_refusal_is_told() {
        let leaf = Tensor::from_slice(&[1.0f32]).set_requires_grad(true);
        let problem = leaky_relu(&leaf, 0.25, true).expect_err("refused").to_string();
        assert!(problem.contains("leaf Variable"), "{problem}");
    }
}
