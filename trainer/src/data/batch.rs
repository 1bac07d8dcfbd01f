//! The tensors of one step.
use tch::{Device, Result, Tensor};

/// The inputs and labels of one step.
#[derive(Debug)]
pub struct Batch {
    /// Images `[N, C, S, S]`, fp32, or tokens `[N, L]`, i64.
    pub inputs: Tensor,
    /// `[N]`, or `[N, places]` where each of the last places has a label; i64.
    pub labels: Tensor,
}

impl Batch {
    /// The same on `device`.
    pub(super) fn on(self, device: Device) -> Result<Batch> {
        if device == Device::Cpu {
            return Ok(self);
        }
        Ok(Batch { inputs: self.inputs.f_to_device(device)?, labels: self.labels.f_to_device(device)? })
    }
}
