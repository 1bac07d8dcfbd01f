//! Prints what an operator of libtorch costs, without the hooks and with them: `cargo run --release -p alloc-torch --example
//! operator_cost`. The operators work on 4 numbers each, so that nearly all is what libtorch and the hooks do around them. A
//! number behind it says how many rounds there are: callgrind, which counts instructions, needs few.
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use alloc_interpose as _; // libtorch's malloc goes to the tracker
use alloc_tracker::{Session, layer, phase};
use tch::nn::{self, Module};
use tch::{Device, Kind, Tensor};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// So few that a round is over before the kernel lets another program run: of many, some are left alone on a busy machine.
const OPERATORS: u32 = 500;
/// Unless another number is given.
const ROUNDS: usize = 600;

/// Nanoseconds of one operator in the fastest and in the median round.
fn cost(rounds: usize, operator: impl Fn() -> Tensor) -> String {
    let round = || {
        let began = Instant::now();
        for _ in 0..OPERATORS {
            drop(black_box(operator()));
        }
        began.elapsed().as_nanos() as f64 / f64::from(OPERATORS)
    };
    let mut times: Vec<f64> = (0..rounds).map(|_| round()).collect();
    times.sort_by(f64::total_cmp);
    format!("{:>6.0} ({:>6.0})", times[0], times[rounds / 2])
}

/// An operator with a gradient to come, one while gradients are off, a layer with a weight, and one in a named phase.
fn print(what: &str, rounds: usize, linear: &nn::Linear, trained: &Tensor, plain: &Tensor) {
    let forward = cost(rounds, || trained.relu());
    let infer = tch::no_grad(|| cost(rounds, || plain.relu()));
    let batch = plain.view([1, 4]);
    let layer = {
        let _layer = layer!("linear");
        cost(rounds, || linear.forward(&batch))
    };
    let named = {
        let _phase = phase!("forward");
        cost(rounds, || trained.relu())
    };
    println!("{what:<16} {forward} {infer} {layer} {named}");
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse())?.max(1);
    tch::set_num_threads(1);
    let store = nn::VarStore::new(Device::Cpu);
    let linear = nn::linear(store.root() / "linear", 4, 4, Default::default());
    let plain = Tensor::ones([4], (Kind::Float, Device::Cpu));
    let trained = plain.copy().set_requires_grad(true);
    println!("ns an operator, fastest (median) of {rounds} rounds");
    println!("{:<16} {:>15} {:>15} {:>15} {:>15}", "", "forward", "infer", "linear layer", "named forward");
    print("no hooks", rounds, &linear, &trained, &plain);
    alloc_torch::install()?;
    print("hooks", rounds, &linear, &trained, &plain);
    let path = std::env::temp_dir().join(format!("operator-cost-{}.timeline.json", std::process::id()));
    let session = Session::builder().output(&path).start()?;
    print("recording", rounds, &linear, &trained, &plain);
    alloc_torch::name_layers(&store);
    print("with named layers", rounds, &linear, &trained, &plain);
    session.finish()?;
    std::fs::remove_file(path)?;
    Ok(())
}
