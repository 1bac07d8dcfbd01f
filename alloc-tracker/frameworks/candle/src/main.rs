//! A small convolutional network in candle under the profiler. docs/CANDLE.md says what works and what does not.
//!
//! `cargo run --release --manifest-path alloc-tracker/frameworks/Cargo.toml -p candle-network -- candle.timeline.json`
use std::error::Error;

use alloc_tracker::{Category, Session, layer, phase};
use candle_core::{Device, Module, Tensor};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, loss};
use images::{Images, SIDE};

use network::Parameter;

mod labels;
mod network;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const BATCH: usize = 32;
const STEPS: usize = 8;
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "candle.timeline.json".to_owned());
    // candle computes convolutions on rayon's threads, which are in no scope. So that they are in those of this thread, it
    // is the only one of rayon's threads. RAYON_NUM_THREADS has more, whose buffers belong to no phase and no layer.
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    }
    let session =
        Session::builder().output(path).fact("model", "convolutions in candle").fact("batch", BATCH).start()?;

    let (network, parameters) = {
        let _phase = phase!("init");
        network::network(SEED)?
    };
    labels::parameters(&parameters)?;
    let mut optimizers = optimizers(&parameters)?;
    let mut images = Images::new(SEED);

    for step in 1..=STEPS {
        let _step = session.step();
        let (images, classes) = {
            let _phase = phase!("data");
            let (images, classes) = images.batch(BATCH);
            let images = Tensor::from_vec(images, (BATCH, 1, SIDE, SIDE), &Device::Cpu)?;
            (images, Tensor::from_vec(classes, BATCH, &Device::Cpu)?)
        };
        labels::label(&images, Category::Input, None)?;
        labels::label(&classes, Category::Input, None)?;
        let logits = {
            let _phase = phase!("forward");
            network.forward(&images)?
        };
        let loss = {
            let _phase = phase!("loss");
            let _layer = layer!("loss");
            loss::cross_entropy(&logits, &classes)?
        };
        drop(logits);
        labels::activations(&loss, &parameters)?;
        session.snapshot("end of forward");
        let gradients = {
            let _phase = phase!("backward");
            loss.backward()?
        };
        labels::gradients(&gradients, &parameters)?;
        session.snapshot("end of backward");
        println!("step {step}: loss {:.3}", loss.to_scalar::<f32>()?);
        // The loss holds the graph, and so does each gradient that was computed from what the graph holds: the activations
        // before the last convolution stay until the gradients go.
        drop(loss);
        {
            let _phase = phase!("optimizer");
            for (name, optimizer) in &mut optimizers {
                let _layer = layer!(name);
                optimizer.step(&gradients)?;
            }
        }
        session.snapshot("end of optimizer");
        drop(gradients);
        session.snapshot("end of step");
    }
    println!("wrote {}", session.finish()?.path.display());
    Ok(())
}

/// An optimizer for each layer, so that its state, and what it needs while it works, have that layer. candle shows nobody
/// the state's storages, so they cannot be labelled; the phase in which they are made tells them from others.
fn optimizers(parameters: &[Parameter]) -> candle_core::Result<Vec<(&str, AdamW)>> {
    let _phase = phase!("optimizer state");
    let layers = parameters.chunk_by(|one, next| one.layer == next.layer);
    let optimizer = |layer: &[Parameter]| {
        let variables = layer.iter().map(|one| one.var.clone()).collect();
        AdamW::new(variables, ParamsAdamW { lr: 0.003, ..ParamsAdamW::default() })
    };
    layers
        .map(|layer| {
            let name = layer[0].layer.as_str();
            let _layer = layer!(name);
            Ok((name, optimizer(layer)?))
        })
        .collect()
}
