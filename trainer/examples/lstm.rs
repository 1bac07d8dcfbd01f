//! A model of your own under the profiler, not changed at all: an LSTM whose layers `alloc_torch::name_layers` names
//! by the parameters that each operator reads.
//!
//! `cargo run --release -p trainer --example lstm -- lstm.timeline.json`
use std::error::Error;

use alloc_interpose as _; // libtorch's malloc goes to the tracker
use alloc_tracker::{Session, phase};
use tch::nn::{self, Module, OptimizerConfig, RNN};
use tch::{Device, Kind, Tensor};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const BATCH: i64 = 32;
const LENGTH: i64 = 20;
const STEPS: i64 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "lstm.timeline.json".to_owned());
    alloc_torch::install()?;
    let session = Session::builder().output(path).fact("model", "lstm").fact("batch", BATCH).start()?;
    tch::manual_seed(1);

    let store = nn::VarStore::new(Device::Cpu);
    let (lstm, output, mut optimizer) = {
        let _phase = phase!("init");
        let root = store.root();
        // 8 features a time step -> 64 -> the mean of the last step's features.
        let lstm = nn::lstm(&root / "lstm", 8, 64, Default::default());
        let output = nn::linear(&root / "output", 64, 1, Default::default());
        (lstm, output, nn::Adam::default().build(&store, 0.01)?)
    };
    alloc_torch::name_layers(&store);

    for step in 1..=STEPS {
        session.begin_step();
        let (sequence, target) = {
            let _phase = phase!("data");
            let sequence = Tensor::randn([BATCH, LENGTH, 8], (Kind::Float, Device::Cpu));
            let target = sequence.narrow(1, LENGTH - 1, 1).mean_dim(2, false, Kind::Float);
            (sequence, target)
        };
        let predicted = {
            let _phase = phase!("forward");
            let (_, state) = lstm.seq(&sequence);
            output.forward(&state.h().squeeze_dim(0))
        };
        let loss = {
            let _phase = phase!("loss");
            predicted.mse_loss(&target, tch::Reduction::Mean)
        };
        drop(predicted);
        session.snapshot("end of forward");
        {
            let _phase = phase!("backward");
            loss.backward();
        }
        {
            let _phase = phase!("optimizer");
            optimizer.step();
            optimizer.zero_grad();
        }
        println!("step {step}: loss {:.4}", loss.double_value(&[]));
        session.end_step();
    }
    println!("wrote {}", session.finish()?.path.display());
    Ok(())
}
