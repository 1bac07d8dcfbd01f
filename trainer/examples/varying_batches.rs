//! Memory that grows while a program runs, although nothing in it leaks: oneDNN keeps what it has compiled for every new
//! shape, so batches of ever new sizes fill its cache (pytorch issue 32596). Whoever asks the tracker which scope keeps
//! more after each step sees it.
//!
//! `cargo run --release -p trainer --example varying_batches -- varying.timeline.json [STEPS] [fixed]`
//!
//! `viewer growth varying.timeline.json` then names the convolutions. With `fixed` every batch has the same size, and
//! nothing grows.
use std::error::Error;

use alloc_interpose as _; // libtorch's malloc goes to the tracker
use alloc_tracker::{Session, phase};
use tch::nn::{self, ModuleT};
use tch::{Device, Kind, Tensor};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "varying.timeline.json".to_owned());
    let steps: i64 = arguments.next().map_or(Ok(40), |word| word.parse())?;
    let fixed = arguments.next().is_some_and(|word| word == "fixed");
    alloc_torch::install()?;
    let session = Session::builder().output(path).fact("model", "three convolutions").fact("mode", "infer").start()?;
    tch::manual_seed(1);

    let store = nn::VarStore::new(Device::Cpu);
    let model = {
        let _phase = phase!("init");
        let root = store.root();
        let padded = nn::ConvConfig { padding: 1, ..Default::default() };
        // [N, 3, 32, 32] -> [N, 16, 32, 32], three times.
        nn::seq_t()
            .add(alloc_torch::layer("first", nn::conv2d(&root / "first", 3, 16, 3, padded)))
            .add(alloc_torch::layer("second", nn::conv2d(&root / "second", 16, 16, 3, padded)))
            .add(alloc_torch::layer("third", nn::conv2d(&root / "third", 16, 16, 3, padded)))
    };
    alloc_torch::label_variables(&store);

    let _nothing_is_trained = tch::no_grad_guard();
    for step in 0..steps {
        session.begin_step();
        // Every size once: 1 to STEPS, in an order that jumps about (STEPS no multiple of 7).
        let batch = if fixed { 8 } else { 1 + step * 7 % steps };
        let images = {
            let _phase = phase!("data");
            Tensor::randn([batch, 3, 32, 32], (Kind::Float, Device::Cpu))
        };
        {
            let _phase = phase!("infer");
            drop(model.forward_t(&images, false));
        }
        drop(images);
        session.end_step();
    }
    println!("wrote {}", session.finish()?.path.display());
    Ok(())
}
