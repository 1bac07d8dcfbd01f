//! A program that says nothing of phases and steps: a perceptron or an LSTM with `install` and `name_layers` alone.
//! Operators tell the phases, and the timeline says that they were derived. With `named` at the end the program names its
//! phases and steps, for comparison.
//!
//! `cargo run --release -p alloc-torch --example unannotated -- mlp mlp.timeline.json [named]`
use std::error::Error;

use alloc_interpose as _; // libtorch's malloc goes to the tracker
use alloc_tracker::{ScopeGuard, Session, phase};
use tch::nn::{self, Module, Optimizer, OptimizerConfig, RNN, VarStore};
use tch::{Device, Kind, Tensor};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const STEPS: i64 = 8;

/// What the program says of itself.
struct Run {
    session: Session,
    is_named: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().unwrap_or_else(|| "mlp".to_owned());
    let path = arguments.next().unwrap_or_else(|| format!("{model}.timeline.json"));
    let is_named = arguments.next().is_some_and(|word| word == "named");
    alloc_torch::install()?;
    let session = Session::builder().output(path).fact("model", model.as_str()).start()?;
    tch::manual_seed(1);
    let run = Run { session, is_named };
    match model.as_str() {
        "mlp" => perceptron(&run)?,
        "lstm" => recurrent(&run)?,
        other => return Err(format!("{other}: mlp or lstm").into()),
    }
    println!("wrote {}", run.session.finish()?.path.display());
    Ok(())
}

/// 784 -> 256 -> 10, batch 64, with momentum; then a look at ten images without a gradient.
fn perceptron(run: &Run) -> Result<(), Box<dyn Error>> {
    let store = VarStore::new(Device::Cpu);
    let (hidden, output, mut optimizer) = {
        let _phase = run.phase("init");
        let hidden = nn::linear(store.root() / "hidden", 784, 256, Default::default());
        let output = nn::linear(store.root() / "output", 256, 10, Default::default());
        (hidden, output, nn::Sgd { momentum: 0.9, ..Default::default() }.build(&store, 0.01)?)
    };
    alloc_torch::name_layers(&store);
    let centres = {
        let _phase = run.phase("data");
        Tensor::randn([10, 784], (Kind::Float, Device::Cpu))
    };
    let pass = |images: &Tensor| output.forward(&hidden.forward(images).relu());
    for _ in 0..STEPS {
        run.begin_step();
        let (images, labels) = {
            let _phase = run.phase("data");
            let labels = Tensor::randint(10, [64], (Kind::Int64, Device::Cpu));
            let mut images = centres.index_select(0, &labels);
            images += images.randn_like();
            (images, labels)
        };
        let logits = {
            let _phase = run.phase("forward");
            pass(&images)
        };
        let loss = {
            let _phase = run.phase("loss");
            logits.cross_entropy_for_logits(&labels)
        };
        drop(logits);
        learn(run, &mut optimizer, &loss);
    }
    let seen = {
        let _phase = run.phase("infer");
        tch::no_grad(|| pass(&centres))
    };
    run.session.snapshot("end of inference");
    drop(seen);
    Ok(())
}

/// 8 features a time step -> 64 -> one number, batch 32, 20 time steps, with Adam.
fn recurrent(run: &Run) -> Result<(), Box<dyn Error>> {
    let store = VarStore::new(Device::Cpu);
    let (lstm, output, mut optimizer) = {
        let _phase = run.phase("init");
        let lstm = nn::lstm(store.root() / "lstm", 8, 64, Default::default());
        let output = nn::linear(store.root() / "output", 64, 1, Default::default());
        (lstm, output, nn::Adam::default().build(&store, 0.01)?)
    };
    alloc_torch::name_layers(&store);
    for _ in 0..STEPS {
        run.begin_step();
        let (sequence, target) = {
            let _phase = run.phase("data");
            let sequence = Tensor::randn([32, 20, 8], (Kind::Float, Device::Cpu));
            let target = sequence.narrow(1, 19, 1).mean_dim(2, false, Kind::Float);
            (sequence, target)
        };
        let predicted = {
            let _phase = run.phase("forward");
            let (_, state) = lstm.seq(&sequence);
            output.forward(&state.h().squeeze_dim(0))
        };
        let loss = {
            let _phase = run.phase("loss");
            predicted.mse_loss(&target, tch::Reduction::Mean)
        };
        drop(predicted);
        learn(run, &mut optimizer, &loss);
    }
    Ok(())
}

fn learn(run: &Run, optimizer: &mut Optimizer, loss: &Tensor) {
    run.session.snapshot("end of forward");
    {
        let _phase = run.phase("backward");
        loss.backward();
    }
    run.session.snapshot("end of backward");
    {
        let _phase = run.phase("optimizer");
        optimizer.step();
        optimizer.zero_grad();
    }
    run.session.snapshot("end of optimizer");
    println!("loss {:.4}", loss.double_value(&[]));
    if run.is_named {
        run.session.end_step();
    }
}

impl Run {
    fn phase(&self, name: &str) -> Option<ScopeGuard> {
        self.is_named.then(|| phase!(name))
    }

    fn begin_step(&self) {
        if self.is_named {
            self.session.begin_step();
        }
    }
}
