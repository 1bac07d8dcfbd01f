//! Mixed precision: libtorch's autocast as a guard.
//!
//! Forward pass and loss run under it, the backward pass outside, as PyTorch's manual says: there each node computes in the
//! type of its forward operator. Parameters stay in fp32. The first operator that takes one makes a copy in 16 bits, under its
//! own layer, and libtorch keeps the copy until the guard is dropped; the graph keeps it longer where backward needs it.
use std::ffi::c_char;
use std::marker::PhantomData;

use tch::{Device, Result};

use crate::precision::Precision;
use crate::settings::Settings;
use crate::shim_failure::ShimFailure;

/// `trainer_autocast_state` of the shim.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Before {
    enabled: bool,
    caches: bool,
    kind: i8,
}

unsafe extern "C" {
    fn trainer_autocast_begin(
        on_gpu: bool,
        in_bf16: bool,
        before: *mut Before,
        error: *mut c_char,
        room: usize,
    ) -> bool;
    fn trainer_autocast_end(on_gpu: bool, before: *const Before);
}

/// The numbers that a run computes in, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) precision: Precision,
    pub(super) device: Device,
}

/// While it lives, operators of this thread compute in 16 bits where libtorch holds that to be safe. When it is dropped, also
/// by a panic, all is as before.
pub(super) struct Autocast {
    on_gpu: bool,
    before: Before,
    /// libtorch's switch is one for each thread.
    _of_this_thread: PhantomData<*const ()>,
}

impl Numbers {
    /// Those that the settings ask for.
    pub(super) fn of(settings: &Settings) -> Numbers {
        Numbers { precision: settings.precision, device: settings.device.into() }
    }

    /// Autocast to them; none in fp32.
    ///
    /// # Errors
    /// When libtorch cannot switch it on.
    pub(super) fn autocast(self) -> Result<Option<Autocast>> {
        let in_bf16 = match self.precision {
            Precision::Fp32 => return Ok(None),
            Precision::Bf16 => true,
            Precision::Fp16 => false,
        };
        let on_gpu = self.device != Device::Cpu;
        let (mut before, mut failure) = (Before::default(), ShimFailure::none());
        let (reason, room) = (failure.as_mut_ptr(), ShimFailure::ROOM);
        // SAFETY: the shim writes to `before` and to at most as much of `failure` as is said; both outlive the call.
        if unsafe { trainer_autocast_begin(on_gpu, in_bf16, &mut before, reason, room) } {
            return Ok(Some(Autocast { on_gpu, before, _of_this_thread: PhantomData }));
        }
        Err(failure.error())
    }
}

impl Drop for Autocast {
    fn drop(&mut self) {
        // SAFETY: `before` is what `trainer_autocast_begin` filled on this thread, which the guard cannot leave.
        unsafe { trainer_autocast_end(self.on_gpu, &self.before) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Kind, Tensor};

    fn autocast(precision: Precision) -> Result<Option<Autocast>> {
        Numbers { precision, device: Device::Cpu }.autocast()
    }

    /// The type of a product of two matrices in fp32.
    fn product() -> Kind {
        let matrix = Tensor::ones([2, 2], (Kind::Float, Device::Cpu));
        matrix.matmul(&matrix).kind()
    }

    #[test]
    fn products_are_in_16_bits_while_the_guard_lives() {
        assert!(autocast(Precision::Fp32).expect("nothing to do").is_none());
        assert_eq!(product(), Kind::Float);
        {
            let _outer = autocast(Precision::Bf16).expect("switched on");
            assert_eq!(product(), Kind::BFloat16);
            {
                let _inner = autocast(Precision::Fp16).expect("switched on once more");
                assert_eq!(product(), Kind::Half);
            }
            assert_eq!(product(), Kind::BFloat16, "the outer one still holds");
        }
        assert_eq!(product(), Kind::Float);
    }

    #[test]
    fn a_panic_switches_it_off() {
        let panicked = std::panic::catch_unwind(|| {
            let _autocast = autocast(Precision::Bf16).expect("switched on");
            assert_eq!(product(), Kind::Float, "this is what panics");
        });
        assert!(panicked.is_err());
        assert_eq!(product(), Kind::Float);
    }

    /// 1 + 2^-10 is no number of bf16: the product rounds it, the parameter keeps it, and its gradient is fp32.
    #[test]
    fn parameters_and_gradients_stay_fp32() {
        let value = 1.0 + 1.0 / 1024.0;
        let weight = Tensor::full([2, 2], value, (Kind::Float, Device::Cpu)).set_requires_grad(true);
        let ones = Tensor::ones([2, 2], (Kind::Float, Device::Cpu));
        let loss = {
            let _autocast = autocast(Precision::Bf16).expect("switched on");
            ones.matmul(&weight).sum(Kind::Float)
        };
        loss.backward();
        assert_eq!(loss.double_value(&[]), 8.0, "each of four sums of two has lost its 2^-9");
        assert_eq!((weight.kind(), weight.double_value(&[0, 0])), (Kind::Float, value));
        assert_eq!((weight.grad().kind(), weight.grad().double_value(&[0, 0])), (Kind::Float, 2.0));
    }

    /// A parameter is cast once: the second product makes no copy of it, and both see the same one.
    #[test]
    fn casts_of_parameters_are_made_once() {
        let weight = Tensor::ones([2, 2], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        let ones = Tensor::ones([2, 2], (Kind::BFloat16, Device::Cpu));
        let _autocast = autocast(Precision::Bf16).expect("switched on");
        let before = ones.matmul(&weight);
        // Written past the graph: who casts anew would see it.
        weight.data().copy_(&Tensor::zeros([2, 2], (Kind::Float, Device::Cpu)));
        assert_eq!(ones.matmul(&weight), before);
    }
}
