//! The start of a backward pass in the middle of a network: tch's own starts from a loss alone.
use std::ffi::{c_char, c_void};

use tch::{Result, Tensor};

use crate::shim_failure::ShimFailure;

unsafe extern "C" {
    fn trainer_root(tensor: *const c_void, error: *mut c_char, room: usize) -> *mut c_void;
    fn trainer_root_free(root: *mut c_void);
    fn trainer_root_backward(root: *mut c_void, gradient: *mut c_void, error: *mut c_char, room: usize) -> bool;
}

/// Where the backward pass from a tensor starts. It holds the tensor's graph, and not its elements.
#[derive(Debug)]
pub(super) struct Root(*mut c_void);

impl Root {
    /// Of a tensor that was computed from what wants a gradient.
    ///
    /// # Errors
    /// When it was not.
    pub(super) fn of(tensor: &Tensor) -> Result<Root> {
        let mut failure = ShimFailure::none();
        // SAFETY: `as_ptr` is the at::Tensor that `tensor` owns, alive for the call; there is as much room as is said.
        let root = unsafe { trainer_root(tensor.as_ptr().cast(), failure.as_mut_ptr(), ShimFailure::ROOM) };
        if root.is_null() { Err(failure.error()) } else { Ok(Root(root)) }
    }

    /// Runs the backward pass when the tensor's gradient is `gradient`, which is let go as soon as it was used. The gradients
    /// are added to those of the leaves, and the graph is let go.
    ///
    /// # Errors
    /// When libtorch fails.
    pub(super) fn backward(self, mut gradient: Tensor) -> Result<()> {
        let mut failure = ShimFailure::none();
        // SAFETY: the root is alive until `self` is dropped. `gradient` owns the at::Tensor behind `as_mut_ptr`, which is left
        // without a value and is still to be freed, which dropping it does.
        let done = unsafe {
            trainer_root_backward(self.0, gradient.as_mut_ptr().cast(), failure.as_mut_ptr(), ShimFailure::ROOM)
        };
        if done { Ok(()) } else { Err(failure.error()) }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // SAFETY: it came from `trainer_root`, and nobody else has it.
        unsafe { trainer_root_free(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Kind;

    /// y = x^2 at 3, whose gradient is handed in as 10: 10 * 2 * 3.
    #[test]
    fn from_the_middle() {
        let x = Tensor::from_slice(&[3.0f32]).set_requires_grad(true);
        let y = &x * &x;
        let root = Root::of(&y).expect("it has a graph");
        drop(y);
        root.backward(Tensor::from_slice(&[10.0f32])).expect("runs");
        assert_eq!(x.grad().double_value(&[0]), 60.0);
    }

    #[test]
    fn a_failure_is_told() {
        let problem = Root::of(&Tensor::from_slice(&[3.0f32])).expect_err("no graph").to_string();
        assert!(problem.contains("no way back"), "{problem}");
        let x = Tensor::from_slice(&[3.0f32, 4.0]).set_requires_grad(true);
        let root = Root::of(&(&x * &x)).expect("it has a graph");
        let problem = root.backward(Tensor::zeros([3], (Kind::Float, tch::Device::Cpu))).expect_err("another shape");
        assert!(problem.to_string().contains("shape"), "{problem}");
    }
}
