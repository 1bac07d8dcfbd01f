//! A long run: DenseNet-121 of the tch crate, which knows nothing of the tracker, trained on made-up images.
//!
//! `cargo run --release -p trainer --example densenet121 -- densenet121.timeline.json [STEP...]`
//!
//! The run ends with the last of the steps (60 if none is given). At each of the others it writes a copy of the timeline so far, beside
//! the timeline: `densenet121.dump-1.timeline.json` and so on. `tracker.overhead_bytes` is in all of them, so that they tell how
//! the tracker's memory grows with the run.
use std::error::Error;

use alloc_interpose as _; // libtorch's malloc goes to the tracker
use alloc_tracker::{Session, phase};
use tch::nn::{self, ModuleT, OptimizerConfig};
use tch::{Device, Kind, Tensor};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const BATCH: i64 = 2;
const CLASSES: i64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "densenet121.timeline.json".to_owned());
    let copies = arguments.map(|step| step.parse()).collect::<Result<Vec<i64>, _>>()?;
    let steps = copies.iter().copied().max().unwrap_or(60);
    alloc_torch::install()?;
    let session = Session::builder().output(path).fact("model", "densenet121").fact("batch", BATCH).start()?;
    tch::manual_seed(1);

    let store = nn::VarStore::new(Device::Cpu);
    let (model, mut optimizer) = {
        let _phase = phase!("init");
        let model = tch::vision::densenet::densenet121(&store.root(), CLASSES);
        (model, nn::Adam::default().build(&store, 1e-4)?)
    };
    alloc_torch::name_layers(&store);

    for step in 1..=steps {
        session.begin_step();
        let (images, labels) = {
            let _phase = phase!("data");
            let images = Tensor::randn([BATCH, 3, 224, 224], (Kind::Float, Device::Cpu));
            (images, Tensor::randint(CLASSES, [BATCH], (Kind::Int64, Device::Cpu)))
        };
        let loss = {
            let _phase = phase!("forward");
            model.forward_t(&images, true).cross_entropy_for_logits(&labels)
        };
        {
            let _phase = phase!("backward");
            loss.backward();
        }
        {
            let _phase = phase!("optimizer");
            optimizer.step();
            optimizer.zero_grad();
        }
        drop(loss);
        session.end_step();
        if step < steps && copies.contains(&step) {
            println!("step {step}: {}", session.dump()?.display());
        }
    }
    println!("wrote {}", session.finish()?.path.display());
    Ok(())
}
