//! Checks what was typed of runs that change a part of a network, learn day by day, or do the same step in another way.
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::writable;
use crate::cli::{MOST_STEPS, VariationArgs};
use crate::data::Dealt;
use crate::model::op::Op;
use crate::model::stage::Stage;
use crate::model::{ModelName, Objective, TrainOnly, train_only};
use crate::precision::Precision;
use crate::settings::{Layout, Settings, Variation};

/// Checks that a step can change this part of `model` alone.
pub fn part(model: ModelName, classes: u64, only: TrainOnly) -> Result<()> {
    ensure!(
        only == TrainOnly::All || model.objective() == Objective::Classes,
        "--train-only {only}: only networks that tell classes apart are trained in part; leave it out, or give --model resnet18"
    );
    let layers = train_only::layers(&model.stages(classes));
    if let TrainOnly::Last(count) = only {
        ensure!(
            count <= layers,
            "--train-only {only}: {model} has {layers} layers with parameters; give last:{layers} or fewer"
        );
    }
    Ok(())
}

/// Checks that `model` tells classes apart, which is all that `command` is for.
pub fn objective(model: ModelName, command: &str) -> Result<()> {
    ensure!(
        model.objective() == Objective::Classes,
        "{command}: only networks that tell classes apart can be asked about; {model} learns something else; give --model resnet18"
    );
    Ok(())
}

/// Checks how a run is to differ from others, and gives it that.
pub fn with_variation(settings: Settings, args: &VariationArgs) -> Result<Settings> {
    let VariationArgs { train_only: only, days, images_a_day, increment, held_out, skip_images, .. } = *args;
    part(settings.model, settings.classes, only)?;
    let deals = days.is_some() || held_out.is_some() || skip_images > 0;
    let dealt = deals.then(|| Dealt {
        held_out: held_out.unwrap_or(0),
        skipped: skip_images,
        days: days.unwrap_or(1),
        a_day: images_a_day,
    });
    let variation = Variation {
        only,
        accumulate: args.accumulate,
        activation: args.activation,
        layout: args.layout,
        dealt,
        increment,
        weights: args.weights.clone(),
        save_weights: args.save_weights.clone(),
    };
    if variation == Variation::default() {
        return Ok(settings);
    }
    let typed = first_typed(args);
    ensure!(
        settings.model.objective() == Objective::Classes,
        "{typed}: only networks that tell classes apart learn like this; leave it out, or give --model resnet18"
    );
    ensure!(
        !settings.model.reads_text() || variation.dealt.is_none(),
        "--days, --held-out, --skip-images: images are dealt out, and {} reads texts; leave them out, or give --model resnet18",
        settings.model
    );
    ensure!(
        settings.checkpoint.is_none(),
        "{typed}: a plan of checkpoints is for all of a network as it is, and all of the data; leave --checkpoint and --budget out"
    );
    in_parts(&settings, args.accumulate)?;
    another_network(&settings, args)?;
    ensure!(
        settings.precision == Precision::Fp32 || only == TrainOnly::All,
        "--train-only {only}: it has been tested in fp32 alone; leave --precision {} out",
        settings.precision
    );
    for (flag, count) in [("--days", days), ("--images-a-day", images_a_day), ("--held-out", held_out)] {
        ensure!(count != Some(0), "{flag} 0: there is nothing to do; give 1 or more, or leave it out");
    }
    let steps = settings.steps.checked_mul(days.unwrap_or(1) as u64).filter(|&steps| steps <= MOST_STEPS);
    let Some(steps) = steps else {
        anyhow::bail!(
            "--steps {} on each day: more than {MOST_STEPS} in all are not supported; give fewer",
            settings.steps
        )
    };
    if let Some(path) = &args.weights {
        readable(path)?;
    }
    if let Some(path) = &args.save_weights {
        writable(path)?;
    }
    Ok(Settings { steps, variation, ..settings })
}

/// Checks that a batch can be run in so many parts.
fn in_parts(settings: &Settings, parts: u64) -> Result<()> {
    let &Settings { model, batch, size, classes, .. } = settings;
    ensure!(
        batch.is_multiple_of(parts),
        "--accumulate {parts}: a batch of {batch} has no {parts} equal parts; give a number that divides it"
    );
    let sizes = super::sizes(model, batch / parts, size, classes, true);
    sizes.with_context(|| format!("--accumulate {parts}: of a batch of {batch}, {} run at once", batch / parts))
}

/// Checks that the network has what is to be changed.
fn another_network(settings: &Settings, args: &VariationArgs) -> Result<()> {
    let model = settings.model;
    if let Some(activation) = args.activation {
        let other = |stage: &Stage| matches!(stage.op, Op::Relu(_) | Op::Relu6);
        ensure!(
            model.stages(settings.classes).iter().any(other),
            "--activation {}: {model} has neither ReLU nor ReLU6; leave it out",
            activation.as_str()
        );
    }
    ensure!(
        args.layout == Layout::ChannelsFirst || !model.reads_text(),
        "--layout {}: images have channels, and {model} reads texts; leave it out",
        args.layout.as_str()
    );
    Ok(())
}

/// A file of weights is there.
fn readable(path: &Path) -> Result<()> {
    ensure!(
        path.is_file(),
        "{}: there is no such file of weights; write one with --save-weights FILE, or leave --weights out",
        path.display()
    );
    Ok(())
}

/// The first of these flags that was typed.
fn first_typed(args: &VariationArgs) -> String {
    let count = |flag, count: Option<usize>| count.map(|count| format!("{flag} {count}"));
    let file = |flag, path: &Option<std::path::PathBuf>| path.as_ref().map(|path| format!("{flag} {}", path.display()));
    let part = (args.train_only != TrainOnly::All).then(|| format!("--train-only {}", args.train_only));
    let parts = (args.accumulate > 1).then(|| format!("--accumulate {}", args.accumulate));
    let activation = args.activation.map(|activation| format!("--activation {}", activation.as_str()));
    let layout = (args.layout != Layout::ChannelsFirst).then(|| format!("--layout {}", args.layout.as_str()));
    part.or(parts)
        .or(activation)
        .or(layout)
        .or(count("--days", args.days))
        .or(count("--held-out", args.held_out))
        .or(file("--weights", &args.weights))
        .or(file("--save-weights", &args.save_weights))
        .unwrap_or_else(|| format!("--skip-images {}", args.skip_images))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(answer: Result<()>) -> String {
        answer.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn parts_that_a_network_has() {
        let only = |typed: &str| typed.parse().expect("typed well");
        assert_eq!(says(part(ModelName::LeNet5, 10, only("last:5"))), "");
        assert_eq!(
            says(part(ModelName::LeNet5, 10, only("last:6"))),
            "--train-only last:6: lenet5 has 5 layers with parameters; give last:5 or fewer"
        );
        assert_eq!(says(part(ModelName::Lstm, 128, TrainOnly::All)), "");
        assert_eq!(says(part(ModelName::Lstm, 128, only("layers:0.5"))), "");
        assert!(
            says(part(ModelName::Lstm, 128, only("last:4")))
                .ends_with("lstm has 3 layers with parameters; give last:3 or fewer")
        );
        assert_eq!(
            says(part(ModelName::Dcgan, 1, only("last:1"))),
            "--train-only last:1: only networks that tell classes apart are trained in part; leave it out, or give --model resnet18"
        );
    }
}
