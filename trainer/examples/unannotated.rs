//! A program that says nothing of phases and steps: the perceptron and the LSTM of the other examples with `install` and
//! `name_layers` alone. Operators tell the phases, and the timeline says that they were derived.
//!
//! `cargo run --release -p trainer --example unannotated -- mlp mlp.timeline.json`
use std::error::Error;

use alloc_interpose as _; // libtorch's malloc goes to the tracker
use alloc_tracker::Session;
use tch::nn::{self, Module, Optimizer, OptimizerConfig, RNN, VarStore};
use tch::{Device, Kind, Tensor};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const STEPS: i64 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().unwrap_or_else(|| "mlp".to_owned());
    let path = arguments.next().unwrap_or_else(|| format!("{model}.timeline.json"));
    alloc_torch::install()?;
    let session = Session::builder().output(path).fact("model", model.as_str()).start()?;
    tch::manual_seed(1);
    match model.as_str() {
        "mlp" => perceptron(&session)?,
        "lstm" => recurrent(&session)?,
        other => return Err(format!("{other}: mlp or lstm").into()),
    }
    println!("wrote {}", session.finish()?.path.display());
    Ok(())
}

/// As in `mlp.rs`: 784 -> 256 -> 10, batch 64, with momentum.
fn perceptron(session: &Session) -> Result<(), Box<dyn Error>> {
    let store = VarStore::new(Device::Cpu);
    let hidden = nn::linear(store.root() / "hidden", 784, 256, Default::default());
    let output = nn::linear(store.root() / "output", 256, 10, Default::default());
    let mut optimizer = nn::Sgd { momentum: 0.9, ..Default::default() }.build(&store, 0.01)?;
    alloc_torch::name_layers(&store);
    let centres = Tensor::randn([10, 784], (Kind::Float, Device::Cpu));
    for _ in 0..STEPS {
        let labels = Tensor::randint(10, [64], (Kind::Int64, Device::Cpu));
        let mut images = centres.index_select(0, &labels);
        images += images.randn_like();
        let logits = output.forward(&hidden.forward(&images).relu());
        let loss = logits.cross_entropy_for_logits(&labels);
        drop(logits);
        learn(session, &mut optimizer, &loss);
    }
    Ok(())
}

/// As in `lstm.rs`: 8 features a time step -> 64 -> one number, batch 32, 20 time steps, with Adam.
fn recurrent(session: &Session) -> Result<(), Box<dyn Error>> {
    let store = VarStore::new(Device::Cpu);
    let lstm = nn::lstm(store.root() / "lstm", 8, 64, Default::default());
    let output = nn::linear(store.root() / "output", 64, 1, Default::default());
    let mut optimizer = nn::Adam::default().build(&store, 0.01)?;
    alloc_torch::name_layers(&store);
    for _ in 0..STEPS {
        let sequence = Tensor::randn([32, 20, 8], (Kind::Float, Device::Cpu));
        let target = sequence.narrow(1, 19, 1).mean_dim(2, false, Kind::Float);
        let (_, state) = lstm.seq(&sequence);
        let predicted = output.forward(&state.h().squeeze_dim(0));
        let loss = predicted.mse_loss(&target, tch::Reduction::Mean);
        drop((predicted, state));
        learn(session, &mut optimizer, &loss);
    }
    Ok(())
}

fn learn(session: &Session, optimizer: &mut Optimizer, loss: &Tensor) {
    session.snapshot("end of forward");
    loss.backward();
    session.snapshot("end of backward");
    optimizer.step();
    session.snapshot("end of optimizer");
    optimizer.zero_grad();
    println!("loss {:.4}", loss.double_value(&[]));
}
