//! The convolution itself: forward and, in training, the gradients of its input, its weights and its bias.
use std::time::Instant;

use alloc_tracker::{Session, layer, phase};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use tch::{Device, Kind, Tensor};

use crate::cli::ConvRunArgs;
use crate::settings::Mode;

/// Does the steps of one run under a session. Returns what `--json-times` prints of a network's run.
pub(super) fn run(args: &ConvRunArgs) -> Result<Value> {
    alloc_torch::install().context("libtorch cannot be watched")?;
    tch::set_num_threads(args.threads as i32);
    tch::manual_seed(args.seed as i64);
    let session = Session::builder()
        .output(&args.out)
        .fact("model", "convolution")
        .fact("mode", args.mode.as_str())
        .fact("batch", args.batch)
        .fact("kernel", args.kernel)
        .start()
        .context("the run cannot be recorded")?;
    let training = args.mode == Mode::Train;
    let (image, weight, bias) = tensors(args, training)?;
    let mut step_ns = Vec::new();
    for _ in 0..args.steps {
        session.begin_step();
        let began = Instant::now();
        step(&image, &weight, &bias, args.kernel as i64, training)?;
        step_ns.push(began.elapsed().as_nanos() as u64);
        session.end_step();
    }
    session.finish().context("the timeline could not be written")?;
    Ok(json!({ "step_ns": step_ns, "peak_rss_bytes": crate::run::peak_rss_bytes() }))
}

/// Image, weights and bias, drawn from the seed. In the middle of a network the image needs a gradient too.
fn tensors(args: &ConvRunArgs, training: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let _phase = phase!("init");
    let [batch, channels, side, kernel] =
        [args.batch, args.channels, args.image_size, args.kernel].map(|number| number as i64);
    let drawn = |size: &[i64]| -> Result<Tensor> {
        Ok(Tensor::f_randn(size, (Kind::Float, Device::Cpu))?.f_set_requires_grad(training)?)
    };
    Ok((drawn(&[batch, channels, side, side])?, drawn(&[channels, channels, kernel, kernel])?, drawn(&[channels])?))
}

/// One step. In training the sum of the output is the loss: its gradient, ones, costs next to nothing.
fn step(image: &Tensor, weight: &Tensor, bias: &Tensor, kernel: i64, training: bool) -> Result<()> {
    let padding = kernel / 2;
    let _layer = layer!("conv");
    let forward = || image.f_conv2d(weight, Some(bias), [1, 1], [padding, padding], [1, 1], 1);
    if !training {
        let _phase = phase!("infer");
        let _no_grad = tch::no_grad_guard();
        drop(forward()?);
        return Ok(());
    }
    let loss = {
        let _phase = phase!("forward");
        forward()?.f_sum(Kind::Float)?
    };
    let _phase = phase!("backward");
    // The gradients are handed out and dropped: nothing is added to those of the step before.
    drop(Tensor::f_run_backward(&[loss], &[image, weight, bias], false, false)?);
    Ok(())
}
