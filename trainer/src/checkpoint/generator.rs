//! The state of libtorch's random generator, so that a dropout can be computed a second time with the same elements dropped.
use std::ffi::{c_char, c_void};

use tch::{Result, Tensor};

use crate::shim_failure::ShimFailure;

unsafe extern "C" {
    fn trainer_generator_state(tensor: *const c_void, error: *mut c_char, room: usize) -> *mut c_void;
    fn trainer_set_generator_state(
        tensor: *const c_void,
        state: *const c_void,
        error: *mut c_char,
        room: usize,
    ) -> bool;
}

/// What a generator will draw next.
#[derive(Debug)]
pub(super) struct GeneratorState(Tensor);

impl GeneratorState {
    /// Of the generator from which operators on `tensor` draw, which is its device's.
    ///
    /// # Errors
    /// When libtorch fails.
    pub(super) fn of(tensor: &Tensor) -> Result<GeneratorState> {
        let mut failure = ShimFailure::none();
        // SAFETY: `as_ptr` is the at::Tensor that `tensor` owns, alive for the call; there is as much room as is said.
        let state = unsafe { trainer_generator_state(tensor.as_ptr().cast(), failure.as_mut_ptr(), ShimFailure::ROOM) };
        if state.is_null() {
            return Err(failure.error());
        }
        // SAFETY: it is a new at::Tensor, which is ours.
        Ok(GeneratorState(unsafe { Tensor::from_ptr(state.cast()) }))
    }

    /// Makes the generator draw from here on.
    ///
    /// # Errors
    /// When libtorch fails.
    pub(super) fn set(&self, tensor: &Tensor) -> Result<()> {
        let mut failure = ShimFailure::none();
        // SAFETY: both are at::Tensors that their owners keep alive for the call; there is as much room as is said.
        let done = unsafe {
            let (tensor, state) = (tensor.as_ptr().cast(), self.0.as_ptr().cast());
            trainer_set_generator_state(tensor, state, failure.as_mut_ptr(), ShimFailure::ROOM)
        };
        if done { Ok(()) } else { Err(failure.error()) }
    }
}
