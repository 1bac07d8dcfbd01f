//! Checks what was typed, before anything is trained, and makes the settings of a run of it.
//!
//! Every refusal says what is wrong, where, and what to type instead.
mod memory;
mod variation;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};

pub use self::memory::{least_bytes, memory};
pub use self::variation::{objective, part, with_variation};

use crate::cli::{
    InputArgs, LARGEST_INPUT, MOST_CLASSES, MOST_INPUTS, MOST_STEPS, MOST_THREADS, RunArgs, Switch, VariationArgs,
    WorkArgs,
};
use crate::model::shape::{self, Misfit};
use crate::model::{ModelName, Objective};
use crate::model_flags;
use crate::optimizer::{Optimizer, OptimizerName};
use crate::precision::Precision;
use crate::settings::{Mode, Settings, Variation, timeline_name};

/// Where the repository keeps its slice of Fashion-MNIST, seen from its root.
const IMAGES: &str = "fixtures/fashion-mnist";
/// Texts that every copy of the repository has.
const TEXTS: &str = "docs";

/// Checks one run and returns its settings. `tracked` says whether the allocator of this process tracks.
///
/// `variation` is how a training run differs from others; the settings have none of it yet.
pub fn settings(
    args: &RunArgs,
    mode: Mode,
    optimizer: Option<Optimizer>,
    variation: Option<&VariationArgs>,
    tracked: bool,
) -> Result<Settings> {
    let work = &args.work;
    amounts(work)?;
    input(args.model, &work.input)?;
    let (size, classes) = (work.input.size(args.model), work.input.classes(args.model));
    sizes(args.model, work.batch, size, classes, mode == Mode::Train)?;
    if let Some(settings) = optimizer {
        self::optimizer(settings)?;
    }
    precision(args.model, mode, args.precision)?;
    memory::memory_of_variation(args.model, work, optimizer, variation, args.precision)?;
    let needs_data = model_flags::needs_data(args.model, mode);
    let replay = model_flags::only_some(args, mode)?;
    if let Some(places) = replay {
        memory::room_for_replay(places)?;
    }
    work.device.make_ready()?;
    let threads = threads(work.threads)?;
    let out = args.out.clone().unwrap_or_else(|| timeline_name(args.model, mode).into());
    if tracked {
        writable(&out)?;
    }
    Ok(Settings {
        model: args.model,
        mode,
        batch: work.batch,
        steps: work.steps,
        size,
        threads,
        seed: work.seed,
        data: needs_data.then(|| data_folder(args.model, work.data.as_deref())).transpose()?,
        replay,
        classes,
        device: work.device,
        precision: args.precision,
        optimizer,
        checkpoint: None,
        variation: Variation::default(),
        out: tracked.then_some(out),
        chained: args.chained,
        in_place: args.in_place == Switch::On,
        reads: args.reads == Switch::On,
        json_times: args.json_times,
        layer_times: args.layer_times == Switch::On,
        take_turns: args.take_turns,
    })
}

/// Checks the counts that do not depend on the network.
pub fn amounts(work: &WorkArgs) -> Result<()> {
    ensure!(work.steps > 0, "--steps 0: there is nothing to do; give --steps 1 or more");
    ensure!(work.steps <= MOST_STEPS, "--steps {}: more than {MOST_STEPS} are not supported; give fewer", work.steps);
    Ok(())
}

/// Checks that nobody gives a length to images, a size in pixels to texts, or another size than its own to a network that
/// has one.
pub fn input(model: ModelName, given: &InputArgs) -> Result<()> {
    match (model.reads_text(), given.image_size, given.length) {
        (true, Some(side), _) => {
            bail!(
                "--image-size {side}: {model} reads texts; leave it out, or give their length in tokens with --length"
            )
        }
        (false, _, Some(length)) => {
            bail!(
                "--length {length}: {model} reads images; leave it out, or give their size in pixels with --image-size"
            )
        }
        _ => model_flags::own_sizes(model, given),
    }
}

/// Checks that the model can learn in such numbers.
pub fn precision(model: ModelName, mode: Mode, precision: Precision) -> Result<()> {
    ensure!(
        precision != Precision::Fp16 || mode == Mode::Infer || model.objective() == Objective::Classes,
        "--precision fp16: the losses of {model} are not scaled, and small gradients would become 0; give bf16, or fp32"
    );
    Ok(())
}

/// Checks that `model` can take such a batch of images of side `size`, or of texts of that length.
pub fn sizes(model: ModelName, batch: u64, size: u64, classes: u64, training: bool) -> Result<()> {
    let (flag, one) = (InputArgs::size_flag(model), if model.reads_text() { "text" } else { "image" });
    ensure!(batch > 0, "--batch 0: a step needs at least one {one}; give --batch 1 or more");
    ensure!(batch <= MOST_INPUTS, "--batch {batch}: more than {MOST_INPUTS} {one}s are not supported; give fewer");
    ensure!(classes > 0, "--classes 0: the last layer needs an output; give --classes 1 or more");
    ensure!(classes <= MOST_CLASSES, "--classes {classes}: more than {MOST_CLASSES} are not supported; give fewer");
    ensure!(size <= LARGEST_INPUT, "{flag} {size}: more than {LARGEST_INPUT} is not supported; give less");
    let stages = model.stages(classes);
    let Err(misfit) = shape::fits(&stages, model.input_of(size), batch, training) else { return Ok(()) };
    let smallest = shape::smallest(&stages, model.input(), batch, training, LARGEST_INPUT)
        .ok_or_else(|| anyhow!("{model}: takes no {one} at all with --batch {batch}"))?;
    match misfit {
        Misfit::Long { most, .. } => bail!("{flag} {size}: {misfit} of {model}; give {flag} {most} or less"),
        Misfit::Odd { .. } => bail!("{flag} {size}: {misfit} in {model}; give an even {flag}"),
        Misfit::OneValue { .. } => bail!(
            "{flag} {size} with --batch {batch}: in training of {model}, {misfit}; give {flag} {smallest} or more, or \
             --batch 2 or more"
        ),
        _ => bail!("{flag} {size}: {misfit} of {model}; the smallest that works is {flag} {smallest}"),
    }
}

/// Checks that learning rate and momentum are in their ranges, and that nobody gives momentum to what has none.
pub fn optimizer(optimizer: Optimizer) -> Result<()> {
    let (name, lr) = (optimizer.name.as_str(), optimizer.lr());
    if let (Some(typed), None) = (optimizer.momentum, optimizer.momentum()) {
        bail!("--momentum {typed}: {name} has none; leave it out, or give --optimizer sgd");
    }
    if optimizer.name == OptimizerName::Nesterov && optimizer.momentum() == Some(0.0) {
        bail!("--momentum 0: nesterov is nothing without one; give --momentum 0.9, say, or --optimizer sgd");
    }
    match (optimizer.beta1, optimizer.beta1()) {
        (Some(typed), None) => bail!("--beta1 {typed}: {name} has none; leave it out, or give --optimizer adam"),
        (Some(typed), _) if !(0.0..1.0).contains(&typed) => {
            bail!("--beta1 {typed}: it lies between 0 and 1, below 1; give --beta1 0.9, say")
        }
        _ => {}
    }
    let momentum = optimizer.momentum().unwrap_or(0.0);
    ensure!(lr.is_finite() && lr >= 0.0, "--lr {lr}: a learning rate is 0 or more; give --lr 0.01, say");
    let sensible = (0.0..=1.0).contains(&momentum);
    ensure!(sensible, "--momentum {momentum}: it lies between 0 and 1; give --momentum 0.9, say");
    Ok(())
}

/// The number of threads, all processors unless one is given.
pub fn threads(given: Option<u64>) -> Result<u64> {
    match given {
        Some(0) => bail!("--threads 0: somebody has to compute; give --threads 1 or more"),
        Some(many) if many > MOST_THREADS => {
            bail!("--threads {many}: more than {MOST_THREADS} are not supported; give fewer")
        }
        Some(some) => Ok(some),
        None => Ok(std::thread::available_parallelism().map_or(1, |n| n.get() as u64)),
    }
}

/// The folder of the data for `model`: the one given, or one of the repository's if the program runs in its root.
pub fn data_folder(model: ModelName, given: Option<&Path>) -> Result<PathBuf> {
    let (folder, what) = if model.reads_text() {
        (TEXTS, "texts (.txt or .md)")
    } else {
        (IMAGES, "images (IDX files, CIFAR, or a folder of images for each class)")
    };
    match given {
        Some(given) if given.is_dir() => Ok(given.to_owned()),
        Some(given) => bail!("{}: there is no such data folder; give one with {what} with --data DIR", given.display()),
        None if Path::new(folder).is_dir() => Ok(folder.into()),
        None => bail!(
            "no data: there is no folder {folder} here; run from the repository's root, or give a folder with {what} \
             with --data DIR"
        ),
    }
}

/// Checks that a file can be written at `path`, by writing one beside it.
fn writable(path: &Path) -> Result<()> {
    ensure!(!path.is_dir(), "{}: is a folder; give a file to write with --out FILE", path.display());
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    writable_folder(folder)
}

/// Checks that files can be made in `folder`.
pub fn writable_folder(folder: &Path) -> Result<()> {
    let shown = folder.display();
    ensure!(folder.exists(), "{shown}: this output folder does not exist; make it with mkdir -p, or change --out");
    ensure!(folder.is_dir(), "{shown}: is not a folder; change --out");
    let probe = folder.join(format!(".trainer-probe-{}", std::process::id()));
    let made = std::fs::File::create_new(&probe).and_then(|_| std::fs::remove_file(&probe));
    made.map_err(|error| {
        anyhow!("{shown}: this output folder cannot be written: {error}; change its permissions, or change --out")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `sizes` says; `Ok` is the empty string.
    fn says(model: ModelName, batch: u64, side: u64, training: bool) -> String {
        sizes(model, batch, side, 10, training).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn sizes_that_work() {
        for model in ModelName::DEMO {
            assert_eq!(says(model, 1, 33, true), "");
            assert_eq!(says(model, 2, 1, true), "");
            assert_eq!(says(model, 1, 1, false), "");
        }
    }

    #[test]
    fn one_value_per_channel_is_refused_with_both_ways_out() {
        assert_eq!(
            says(ModelName::ResNet18, 1, 32, true),
            "--image-size 32 with --batch 1: in training of resnet18, batch norm `layer4.0.bn1` would see one value \
             per channel (one image, a map of 1x1) and cannot normalise it; give --image-size 33 or more, or --batch \
             2 or more"
        );
    }

    #[test]
    fn texts_have_a_length_and_images_a_size() {
        let given = InputArgs { image_size: Some(64), ..InputArgs::default() };
        assert!(input(ModelName::ResNet18, &given).is_ok());
        let refusal = input(ModelName::Lstm, &given).expect_err("pixels of a text").to_string();
        assert!(refusal.starts_with("--image-size 64: lstm reads texts; leave it out"), "{refusal}");
        let given = InputArgs { length: Some(64), ..InputArgs::default() };
        assert!(input(ModelName::Lstm, &given).is_ok());
        let refusal = input(ModelName::ResNet18, &given).expect_err("tokens of an image").to_string();
        assert!(refusal.starts_with("--length 64: resnet18 reads images; leave it out"), "{refusal}");
    }

    #[test]
    fn lengths_that_do_not_fit() {
        assert_eq!(says(ModelName::BertTiny, 1, 512, true), "");
        let long = says(ModelName::BertTiny, 1, 513, true);
        assert!(long.starts_with("--length 513: `bert.embeddings.position_embeddings` knows 512 places"), "{long}");
        assert!(long.ends_with("give --length 512 or less"), "{long}");
        assert!(says(ModelName::Seq2Seq, 1, 7, true).ends_with("is odd in seq2seq; give an even --length"));
        assert!(
            says(ModelName::Lstm, 1, 0, true)
                .ends_with("reached by nothing of lstm; the smallest that works is --length 1")
        );
        assert!(says(ModelName::CharCnn, 1, 100, true).ends_with("the smallest that works is --length 1014"));
    }

    #[test]
    fn no_pixels() {
        assert_eq!(
            says(ModelName::MobileNetV1, 2, 0, true),
            "--image-size 0: the window of `model.0.0` does not fit into a map of 0x0 of mobilenet_v1; the smallest \
             that works is --image-size 1"
        );
    }

    #[test]
    fn nothing_to_do() {
        assert!(says(ModelName::ResNet18, 0, 224, true).starts_with("--batch 0: a step needs"));
        assert!(threads(Some(0)).is_err_and(|error| error.to_string().starts_with("--threads 0")));
        let sgd = |lr, momentum| Optimizer { lr: Some(lr), momentum: Some(momentum), ..Optimizer::default() };
        assert!(optimizer(sgd(f64::NAN, 0.9)).is_err());
        assert!(optimizer(sgd(0.1, 1.5)).is_err());
        assert!(optimizer(sgd(0.1, 0.5)).is_ok());
        let adam = Optimizer { name: OptimizerName::Adam, ..sgd(0.1, 0.5) };
        assert!(optimizer(adam).is_err_and(|error| error.to_string().starts_with("--momentum 0.5: adam has none")));
        let nesterov = |momentum| Optimizer { name: OptimizerName::Nesterov, ..sgd(0.1, momentum) };
        assert!(
            optimizer(nesterov(0.0)).is_err_and(|error| error.to_string().starts_with("--momentum 0: nesterov is"))
        );
        assert!(optimizer(nesterov(0.5)).is_ok());
    }

    #[test]
    fn output_places() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(writable(&folder.path().join("a.timeline.json")).is_ok());
        assert!(std::fs::read_dir(folder.path()).expect("readable").next().is_none(), "the probe is gone");
        let missing = writable(&folder.path().join("none/a.timeline.json")).expect_err("no folder").to_string();
        assert!(missing.contains("none: this output folder does not exist; make it with mkdir -p"), "{missing}");
        assert!(writable(folder.path()).expect_err("a folder").to_string().contains("is a folder"));
    }
}
