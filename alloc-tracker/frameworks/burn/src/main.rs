//! A small convolutional network in burn under the profiler, on burn's backend Flex. docs/BURN.md says what works and what
//! does not.
//!
//! `cargo run --release --manifest-path alloc-tracker/frameworks/Cargo.toml -p burn-network -- burn.timeline.json`
use std::error::Error;

use alloc_tracker::{Category, Session, layer, phase};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::GradientsParams;
use burn::prelude::*;
use images::{Images, SIDE};

use network::{Network, TRAINED};

mod labels;
mod network;
mod optimizer;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const BATCH: usize = 32;
const STEPS: usize = 8;
const SEED: u64 = 1;
const RATE: f64 = 0.003;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "burn.timeline.json".to_owned());
    let session = Session::builder().output(path).fact("model", "convolutions in burn").fact("batch", BATCH).start()?;
    let device = Device::flex().autodiff();
    device.seed(SEED);

    let mut network = {
        let _phase = phase!("init");
        let network = Network::new(&device);
        // burn makes a parameter when it is first asked for, which is here.
        labels::network(&network, None);
        network
    };
    let mut optimizer = optimizer::adam(&TRAINED);
    let cross_entropy = CrossEntropyLossConfig::new().init(&device);
    let mut images = Images::new(SEED);

    for step in 1..=STEPS {
        let _step = session.step();
        let (images, classes) = {
            let _phase = phase!("data");
            let (images, classes) = images.batch(BATCH);
            let classes: Vec<i32> = classes.into_iter().map(|class| class as i32).collect();
            let images = Tensor::<4>::from_data(TensorData::new(images, [BATCH, 1, SIDE, SIDE]), &device);
            (images, Tensor::<1, Int>::from_data(TensorData::new(classes, [BATCH]), &device))
        };
        labels::label(&images, Category::Input, None);
        labels::label(&classes, Category::Input, None);
        let logits = {
            let _phase = phase!("forward");
            network.forward(images)
        };
        let loss = {
            let _phase = phase!("loss");
            let _layer = layer!("loss");
            cross_entropy.forward(logits, classes)
        };
        session.snapshot("end of forward");
        let gradients = {
            let _phase = phase!("backward");
            GradientsParams::from_grads(loss.backward(), &network)
        };
        labels::network(&network, Some(&gradients));
        session.snapshot("end of backward");
        println!("step {step}: loss {:.3}", loss.into_scalar::<f32>());
        network = {
            let _phase = phase!("optimizer");
            optimizer.step(RATE, network, gradients)
        };
        session.snapshot("end of step");
    }
    println!("wrote {}", session.finish()?.path.display());
    Ok(())
}
