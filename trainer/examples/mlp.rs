//! A model of your own under the profiler: a perceptron whose layers are wrapped in `alloc_torch::layer`.
//!
//! `cargo run --release -p trainer --example mlp -- mlp.timeline.json`
use std::error::Error;

use alloc_interpose as _; // libtorch's malloc goes to the tracker
use alloc_tracker::{Session, phase};
use tch::nn::{self, ModuleT, OptimizerConfig};
use tch::{Device, Kind, Tensor};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const BATCH: i64 = 64;
const STEPS: i64 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "mlp.timeline.json".to_owned());
    alloc_torch::install()?;
    let session = Session::builder().output(path).fact("model", "mlp").fact("batch", BATCH).start()?;
    tch::manual_seed(1);

    let store = nn::VarStore::new(Device::Cpu);
    let (model, mut optimizer) = {
        let _phase = phase!("init");
        let root = store.root();
        // 784 -> 256 -> 10, the wrapper giving each layer its name.
        let model = nn::seq_t()
            .add(alloc_torch::layer("hidden", nn::linear(&root / "hidden", 784, 256, Default::default())))
            .add(alloc_torch::layer("relu", nn::func(|xs| xs.relu())))
            .add(alloc_torch::layer("output", nn::linear(&root / "output", 256, 10, Default::default())));
        (model, nn::Sgd { momentum: 0.9, ..Default::default() }.build(&store, 0.01)?)
    };
    alloc_torch::label_variables(&store);
    // Made-up data: a point for each of the ten classes, seen through noise.
    let centres = {
        let _phase = phase!("data");
        Tensor::randn([10, 784], (Kind::Float, Device::Cpu))
    };

    for step in 1..=STEPS {
        session.begin_step();
        let (images, labels) = {
            let _phase = phase!("data");
            let labels = Tensor::randint(10, [BATCH], (Kind::Int64, Device::Cpu));
            let mut images = centres.index_select(0, &labels);
            images += images.randn_like();
            (images, labels)
        };
        let logits = {
            let _phase = phase!("forward");
            model.forward_t(&images, true)
        };
        let loss = {
            let _phase = phase!("loss");
            logits.cross_entropy_for_logits(&labels)
        };
        drop(logits);
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
        println!("step {step}: loss {:.3}", loss.double_value(&[]));
        session.end_step();
    }
    println!("wrote {}", session.finish()?.path.display());
    Ok(())
}
