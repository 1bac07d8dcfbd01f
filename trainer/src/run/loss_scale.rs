//! The loss scale of fp16, as PyTorch's `torch.amp.GradScaler` has it.
//!
//! Gradients below 2^-24 are 0 in 16-bit floats. So the loss is multiplied by the scale before the backward pass, and gradients
//! are divided by it behind. Where one of them is infinite or no number, the step does not change the parameters, and the scale is
//! halved; after 2,000 steps without that it is doubled.
use std::ffi::c_char;

use tch::{Device, Kind, Result, Tensor};

use super::autocast::Numbers;
use crate::precision::Precision;
use crate::shim_failure::ShimFailure;

/// `torch.amp.GradScaler`'s own (torch/amp/grad_scaler.py).
const FIRST: f64 = 65_536.0;
const GROWTH: f64 = 2.0;
const BACKOFF: f64 = 0.5;
const GROWTH_INTERVAL: i64 = 2_000;

unsafe extern "C" {
    fn trainer_unscale(
        gradients: *const *const torch_sys::C_tensor,
        count: usize,
        found: *mut torch_sys::C_tensor,
        factor: *const torch_sys::C_tensor,
        error: *mut c_char,
        room: usize,
    ) -> bool;
}

/// The scale, and what libtorch's functions need to change it: each a tensor of one number.
pub(super) struct LossScale {
    scale: Tensor,
    /// Steps since it last changed.
    steps: Tensor,
    /// Those whose gradients are scaled.
    parameters: Vec<Tensor>,
}

impl LossScale {
    /// For these parameters; none where the numbers are not fp16.
    pub(super) fn of(numbers: Numbers, parameters: Vec<Tensor>) -> Result<Option<LossScale>> {
        if numbers.precision != Precision::Fp16 {
            return Ok(None);
        }
        let scale = one(FIRST, Kind::Float, numbers.device)?;
        Ok(Some(LossScale { scale, steps: one(0.0, Kind::Int, numbers.device)?, parameters }))
    }

    /// The scale now.
    pub(super) fn value(&self) -> Result<f64> {
        self.scale.f_double_value(&[])
    }

    /// The loss that the backward pass begins from.
    pub(super) fn scaled(&self, loss: Tensor) -> Result<Tensor> {
        loss.f_mul(&self.scale)
    }

    /// Divides the gradients by the scale, and chooses the next one. Returns whether all gradients are finite.
    pub(super) fn unscale(&mut self) -> Result<bool> {
        let gradients: Vec<Tensor> =
            self.parameters.iter().map(Tensor::grad).filter(|gradient| gradient.defined()).collect();
        let mut found = one(0.0, Kind::Float, self.scale.device())?;
        if !gradients.is_empty() {
            self.divide(&gradients, &mut found)?;
        }
        let _handle = self.scale.f_internal_amp_update_scale_(&self.steps, &found, GROWTH, BACKOFF, GROWTH_INTERVAL)?;
        Ok(found.f_double_value(&[])? == 0.0)
    }

    fn divide(&self, gradients: &[Tensor], found: &mut Tensor) -> Result<()> {
        let factor = self.scale.f_reciprocal()?;
        let pointers: Vec<*const torch_sys::C_tensor> = gradients.iter().map(Tensor::as_ptr).collect();
        let mut failure = ShimFailure::none();
        let (reason, room) = (failure.as_mut_ptr(), ShimFailure::ROOM);
        // SAFETY: the pointers are those of tensors that outlive the call, as many as is said; the shim writes at most as much of
        // `failure` as is said.
        let done = unsafe {
            trainer_unscale(pointers.as_ptr(), pointers.len(), found.as_mut_ptr(), factor.as_ptr(), reason, room)
        };
        if done { Ok(()) } else { Err(failure.error()) }
    }
}

fn one(value: f64, kind: Kind, device: Device) -> Result<Tensor> {
    Tensor::f_full([0i64; 0], value, (kind, device))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale_of(parameter: &Tensor) -> LossScale {
        let numbers = Numbers { precision: Precision::Fp16, device: Device::Cpu };
        let scale = LossScale::of(numbers, vec![parameter.shallow_clone()]).expect("tensors");
        scale.expect("fp16 has one")
    }

    /// The loss 3x at x = 2: its gradient is 3, 196,608 before it is divided.
    #[test]
    fn gradients_are_what_they_are_without_a_scale() {
        let x = Tensor::from_slice(&[2.0f32]).set_requires_grad(true);
        let mut scale = scale_of(&x);
        scale.scaled((&x * 3.0).sum(Kind::Float)).expect("scales").backward();
        assert_eq!(x.grad().double_value(&[0]), 3.0 * 65_536.0);
        assert!(scale.unscale().expect("divides"));
        assert_eq!((x.grad().double_value(&[0]), scale.value().expect("a number")), (3.0, 65_536.0));
    }

    /// The gradient in 16 bits is 3 times the scale. 65,504 is less than that of 65,536 and of 32,768, and more than that of 16,384.
    #[test]
    fn infinite_gradients_halve_the_scale() {
        let x = Tensor::from_slice(&[2.0f32]).set_requires_grad(true);
        let mut scale = scale_of(&x);
        let mut step = || {
            let mut gradient = x.grad();
            let _handle = gradient.defined().then(|| gradient.zero_());
            let half = (x.to_kind(Kind::Half) * 3.0).sum(Kind::Half).to_kind(Kind::Float);
            scale.scaled(half).expect("scales").backward();
            (scale.unscale().expect("divides"), scale.value().expect("a number"))
        };
        assert_eq!(
            [(); 4].map(|()| step()),
            [(false, 32_768.0), (false, 16_384.0), (true, 16_384.0), (true, 16_384.0)]
        );
        assert_eq!(x.grad().double_value(&[0]), 3.0);
    }

    #[test]
    fn after_2000_steps_it_is_doubled() {
        let x = Tensor::from_slice(&[2.0f32]).set_requires_grad(true);
        let mut scale = scale_of(&x);
        scale.scaled((&x * 3.0).sum(Kind::Float)).expect("scales").backward();
        let values: Vec<f64> = (0..2_000)
            .map(|_| {
                assert!(scale.unscale().expect("divides"));
                scale.value().expect("a number")
            })
            .collect();
        assert_eq!((values[1_998], values[1_999]), (65_536.0, 131_072.0));
    }

    #[test]
    fn other_numbers_have_none() {
        for precision in [Precision::Fp32, Precision::Bf16] {
            let numbers = Numbers { precision, device: Device::Cpu };
            assert!(LossScale::of(numbers, Vec::new()).expect("nothing to make").is_none());
        }
    }
}
