//! The two networks of DCGAN, with the first values that its authors give them, and the noise that images are made of.
use tch::{Device, Kind, Result, Tensor};

use crate::model::{Network, dcgan};
use crate::settings::Settings;

/// Deviation of the first weights.
const DEVIATION: f64 = 0.02;

/// The network that makes images.
pub(in crate::run) fn generator(settings: &Settings) -> Result<Network> {
    let network = Network::init(dcgan::generator(dcgan::CHANNELS), settings.device.into())?;
    draw_weights(&network)?;
    Ok(network.with_in_place(settings.in_place))
}

/// The network that judges images.
pub(in crate::run) fn discriminator(settings: &Settings) -> Result<Network> {
    let network = Network::init(dcgan::discriminator(dcgan::CHANNELS), settings.device.into())?;
    draw_weights(&network)?;
    Ok(network.with_in_place(settings.in_place))
}

/// What `count` images are made of, `[N, 100, 1, 1]`.
pub(super) fn noise(count: u64, device: Device) -> Result<Tensor> {
    Tensor::f_randn([count as i64, dcgan::NOISE as i64, 1, 1], (Kind::Float, device))
}

/// Convolutions begin at a mean of 0, the weights of batch norm at one of 1. In the order of the names, so that a seed gives
/// the same weights in every run.
fn draw_weights(network: &Network) -> Result<()> {
    let _no_grad = tch::no_grad_guard();
    let mut variables: Vec<(String, Tensor)> = network.store().variables().into_iter().collect();
    variables.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, mut variable) in variables {
        if name.ends_with(".weight") {
            let mean = if variable.dim() == 1 { 1.0 } else { 0.0 };
            let _ = variable.f_normal_(mean, DEVIATION)?;
        }
    }
    Ok(())
}
