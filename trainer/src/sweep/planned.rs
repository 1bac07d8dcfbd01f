//! From grids to points, and what is known of each before it runs.
use std::path::PathBuf;

use anyhow::Result;

use super::asked::Asked;
use super::point::Point;
use crate::allocator::Spec;
use crate::check;
use crate::cli::{Axes, Common, Count, InputArgs, LARGEST_INPUT, Models, Size};
use crate::figures::mib;
use crate::model::{ModelName, shape};
use crate::optimizer::Optimizer;
use crate::precision::Precision;
use crate::settings::Mode;

/// An image of so many pixels, or a text of so many tokens, is small for every network.
const SMALL_IMAGE: u64 = 64;
const SMALL_TEXT: u64 = 32;

/// A point, and what it takes to run it.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) point: Point,
    pub(super) model: ModelName,
    pub(super) mode: Mode,
    /// Used where the mode is training.
    pub(super) optimizer: Optimizer,
    pub(super) precision: Precision,
    pub(super) allocator: Spec,
    /// Outputs of the last layer.
    pub(super) classes: u64,
    /// Folder of the data.
    pub(super) data: PathBuf,
}

/// Whether a point can run, as far as shapes tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Forecast {
    /// It needs so many bytes at least.
    Needs(u64),
    /// The network cannot take such a batch of such images, for this reason.
    Misfit(String),
}

impl Forecast {
    /// Why the point cannot fit into `room` bytes of memory, if that is certain.
    pub(super) fn too_large(&self, room: Option<u64>) -> Option<String> {
        match (self, room) {
            (&Forecast::Needs(bytes), Some(room)) if bytes > room => Some(format!(
                "needs {} at least for parameters, saved maps and optimizer state alone, and {} are free",
                mib(bytes),
                mib(room)
            )),
            _ => None,
        }
    }
}

/// All points of all grids, each once.
pub(super) fn points(asked: &Asked) -> Result<Vec<Planned>> {
    let usual = check::threads(None)?;
    let mut all: Vec<Planned> = Vec::new();
    for grid in &asked.grids {
        for planned in of_grid(grid, &asked.common, usual)? {
            if !all.iter().any(|other| other.point == planned.point) {
                all.push(planned);
            }
        }
    }
    Ok(all)
}

fn of_grid(grid: &Axes, common: &Common, usual_threads: u64) -> Result<Vec<Planned>> {
    let threads: Vec<u64> = match grid.threads.as_slice() {
        [] => vec![usual_threads],
        some => some.iter().map(|count| count.0).collect(),
    };
    let mut all = Vec::new();
    for model in Models::listed(&grid.models) {
        let classes = common.classes.map_or_else(|| model.default_classes(), |Count(classes)| classes);
        let data = check::data_folder(model, common.data.as_deref())?;
        let sizes = if model.reads_text() { &grid.length } else { &grid.image_size };
        for &mode in &grid.modes {
            for batch in &grid.batch {
                for &size in sizes {
                    let size = number(size, model, batch.0, mode, classes);
                    for &optimizer in &grid.optimizer {
                        for &precision in &grid.precision {
                            for allocator in &grid.allocator {
                                for &threads in &threads {
                                    let point = Point {
                                        model: model.to_string(),
                                        mode: mode.to_string(),
                                        batch: batch.0,
                                        image_size: (!model.reads_text()).then_some(size),
                                        length: model.reads_text().then_some(size),
                                        optimizer: (mode == Mode::Train).then(|| optimizer.as_str().to_owned()),
                                        precision: precision.as_str().to_owned(),
                                        allocator: allocator.to_string(),
                                        threads,
                                    };
                                    let optimizer = Optimizer { name: optimizer, ..Optimizer::default() };
                                    let (allocator, data) = (allocator.clone(), data.clone());
                                    all.push(Planned {
                                        point,
                                        model,
                                        mode,
                                        optimizer,
                                        precision,
                                        allocator,
                                        classes,
                                        data,
                                    });
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    Ok(all)
}

/// The size in pixels or tokens. A network that has a size of its own has no smaller one; one that takes nothing small at all is told
/// to be a misfit.
fn number(size: Size, model: ModelName, batch: u64, mode: Mode, classes: u64) -> u64 {
    let reference = model.reference_size();
    match size {
        Size::Number(number) => number,
        Size::Reference => reference,
        Size::Small if model.own_size().is_some() => reference,
        Size::Small => {
            let small = reference.min(if model.reads_text() { SMALL_TEXT } else { SMALL_IMAGE });
            let training = mode == Mode::Train;
            let fits = check::sizes(model, batch, small, classes, training).is_ok();
            let smallest = || shape::smallest(&model.stages(classes), model.input(), batch, training, LARGEST_INPUT);
            if fits { small } else { smallest().unwrap_or(small) }
        }
    }
}

impl Planned {
    /// What the network reads.
    pub(super) fn input(&self) -> InputArgs {
        let Point { image_size, length, .. } = self.point;
        InputArgs { image_size, length, classes: Some(self.classes) }
    }

    /// What the shapes say.
    pub(super) fn forecast(&self) -> Forecast {
        let &Planned { ref point, model, mode, optimizer, precision, classes, .. } = self;
        let (training, size) = (mode == Mode::Train, self.input().size(model));
        let optimizer = training.then_some(optimizer);
        let checked = check::input(model, &self.input())
            .and_then(|()| check::sizes(model, point.batch, size, classes, training))
            .and_then(|()| check::least_bytes(model, point.batch, size, classes, optimizer, precision));
        match checked {
            Ok(bytes) => Forecast::Needs(bytes),
            Err(misfit) => Forecast::Misfit(format!("{misfit:#}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::cli::{Cli, Task};
    use clap::Parser;

    fn asked(flags: &[&str]) -> Vec<Planned> {
        // The folder has to be there; nothing is read from it.
        let data = env!("CARGO_MANIFEST_DIR");
        let Task::Sweep(args) = Cli::parse_from([&["trainer", "sweep", "--data", data], flags].concat()).task else {
            panic!("sweep is the Sweep task")
        };
        points(&Asked::of(&args).expect("flags")).expect("points")
    }

    /// 1 model x 2 batches x 2 optimizers in training and, without an optimizer, 1 x 2 in inference.
    #[test]
    fn combinations_come_once() {
        let flags = ["--models", "lenet5", "--modes", "train,infer", "--batch", "1,2", "--optimizer", "sgd,adam"];
        let all = asked(&flags);
        assert_eq!(all.len(), 4 + 2);
        assert!(all.iter().all(|planned| planned.point.image_size == Some(32)), "what LeNet-5 was made for");
    }

    #[test]
    fn all_models_have_a_small_size() {
        let all = asked(&["--models", "all", "--image-size", "small", "--batch", "2"]);
        assert_eq!(all.len(), ModelName::value_variants().len());
        for planned in &all {
            assert!(matches!(planned.forecast(), Forecast::Needs(_)), "{:?}", planned.forecast());
        }
    }

    /// The game of DQN is played on images of 84 x 84, and DCGAN makes images of 64 x 64.
    #[test]
    fn networks_with_a_size_of_their_own_have_no_other() {
        for (model, own) in [("dqn", 84), ("dcgan", 64)] {
            assert_eq!(asked(&["--models", model, "--image-size", "small"])[0].point.image_size, Some(own));
            let other = &asked(&["--models", model, "--image-size", "32"])[0];
            assert!(
                matches!(other.forecast(), Forecast::Misfit(reason) if reason.contains("--image-size 32")),
                "{model}"
            );
        }
    }

    /// LeNet-5 takes images of 32 x 32 alone. 1,000,000 images of 224 x 224 for ResNet-18 are tens of terabytes.
    #[test]
    fn what_cannot_run_is_known() {
        let lenet = &asked(&["--models", "lenet5", "--image-size", "97"])[0];
        assert!(matches!(lenet.forecast(), Forecast::Misfit(reason) if reason.contains("--image-size 32")));
        let huge = &asked(&["--models", "resnet18", "--batch", "1000000"])[0].forecast();
        assert!(huge.too_large(Some(1 << 40)).is_some_and(|reason| reason.ends_with("1048576.0 MiB are free")));
        assert_eq!(huge.too_large(None), None, "what is not known refuses nothing");
        let needs =
            |precision: &str| match asked(&["--models", "resnet18", "--batch", "1000", "--precision", precision])[0]
                .forecast()
            {
                Forecast::Needs(bytes) => bytes,
                Forecast::Misfit(reason) => panic!("{reason}"),
            };
        let halved = needs("fp32") - needs("bf16");
        // 1,000 images of 21,581,728 B; mean and deviation of 4,800 channels, the loss and its weight once.
        let saved = 1_000 * 21_581_728 + 4_800 * 8 + 8;
        assert_eq!(halved, saved / 2, "maps are halved, parameters and optimizer state are not");
    }
}
