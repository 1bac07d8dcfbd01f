//! What players see, as tensors.
use alloc_timeline::Category;
use tch::{Device, Kind, Result, Tensor};

use crate::run::recording::Recording;

/// `count` states, a byte a pixel, as `[N, 4, 84, 84]` from 0 to 1.
pub(super) fn states(bytes: &[u8], count: usize, device: Device, recording: &Recording) -> Result<Tensor> {
    let pixels = Tensor::f_from_slice(bytes)?.f_view([count as i64, 4, 84, 84])?;
    let mut states = pixels.f_to_device(device)?.f_to_kind(Kind::Float)?;
    let _ = states.f_divide_scalar_(255.0)?;
    Ok(as_input(states, recording))
}

/// The tensor, labelled as input.
pub(super) fn as_input(tensor: Tensor, recording: &Recording) -> Tensor {
    recording.label(&tensor, Category::Input);
    tensor
}
