//! From grids to points, and what is known of each before it runs.
use anyhow::Result;
use clap::ValueEnum;

use super::asked::Asked;
use super::point::Point;
use crate::allocator::Spec;
use crate::check;
use crate::cli::{Axes, ImageSize, LARGEST_IMAGE, Models};
use crate::figures::mib;
use crate::model::{ModelName, shape};
use crate::optimizer::{Optimizer, OptimizerName};
use crate::settings::Mode;

/// An image of this size is small for every network.
const SMALL: u64 = 64;

/// A point, and what it takes to run it.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) point: Point,
    pub(super) model: ModelName,
    pub(super) mode: Mode,
    /// Used where the mode is training.
    pub(super) optimizer: Optimizer,
    pub(super) allocator: Spec,
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
pub(super) fn points(asked: &Asked, classes: u64) -> Result<Vec<Planned>> {
    let usual = check::threads(None)?;
    let mut all: Vec<Planned> = Vec::new();
    for grid in &asked.grids {
        for planned in of_grid(grid, classes, usual) {
            if !all.iter().any(|other| other.point == planned.point) {
                all.push(planned);
            }
        }
    }
    Ok(all)
}

fn of_grid(grid: &Axes, classes: u64, usual_threads: u64) -> Vec<Planned> {
    let threads: Vec<u64> = match grid.threads.as_slice() {
        [] => vec![usual_threads],
        some => some.iter().map(|count| count.0).collect(),
    };
    let mut all = Vec::new();
    for model in grid.models.iter().flat_map(|models| each(*models)) {
        for &mode in &grid.modes {
            for batch in &grid.batch {
                for &size in &grid.image_size {
                    let side = pixels(size, model, batch.0, mode, classes);
                    for &optimizer in &grid.optimizer {
                        for precision in &grid.precision {
                            for allocator in &grid.allocator {
                                for &threads in &threads {
                                    let point = Point {
                                        model: model.to_string(),
                                        mode: mode.to_string(),
                                        batch: batch.0,
                                        image_size: side,
                                        optimizer: (mode == Mode::Train).then(|| optimizer.as_str().to_owned()),
                                        precision: precision.as_str().to_owned(),
                                        allocator: allocator.to_string(),
                                        threads,
                                    };
                                    all.push(planned(point, model, mode, optimizer, allocator.clone()));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    all
}

fn planned(point: Point, model: ModelName, mode: Mode, name: OptimizerName, allocator: Spec) -> Planned {
    Planned { point, model, mode, optimizer: Optimizer { name, ..Optimizer::default() }, allocator }
}

fn each(models: Models) -> Vec<ModelName> {
    match models {
        Models::All => ModelName::value_variants().to_vec(),
        Models::One(model) => vec![model],
    }
}

/// The size in pixels. A network that takes no small image at all keeps 64, and is told to be a misfit.
fn pixels(size: ImageSize, model: ModelName, batch: u64, mode: Mode, classes: u64) -> u64 {
    let reference = model.input().side;
    match size {
        ImageSize::Pixels(pixels) => pixels,
        ImageSize::Reference => reference,
        ImageSize::Small => {
            let (small, training) = (SMALL.min(reference), mode == Mode::Train);
            let fits = check::sizes(model, batch, small, classes, training).is_ok();
            let smallest = || {
                let (stages, channels) = (model.stages(classes), model.input().channels);
                shape::smallest(&stages, channels, batch, training, LARGEST_IMAGE)
            };
            if fits { small } else { smallest().unwrap_or(small) }
        }
    }
}

impl Planned {
    /// What the shapes say.
    pub(super) fn forecast(&self, classes: u64) -> Forecast {
        let Planned { point, model, mode, optimizer, .. } = self;
        let training = *mode == Mode::Train;
        let checked = check::sizes(*model, point.batch, point.image_size, classes, training).and_then(|()| {
            check::least_bytes(*model, point.batch, point.image_size, classes, training.then_some(*optimizer))
        });
        match checked {
            Ok(bytes) => Forecast::Needs(bytes),
            Err(misfit) => Forecast::Misfit(format!("{misfit:#}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Task};
    use clap::Parser;

    fn asked(flags: &[&str]) -> Vec<Planned> {
        let Task::Sweep(args) = Cli::parse_from([&["trainer", "sweep"], flags].concat()).task else {
            panic!("sweep is the Sweep task")
        };
        points(&Asked::of(&args).expect("flags"), 1000).expect("points")
    }

    /// 1 model x 2 batches x 2 optimizers in training and, without an optimizer, 1 x 2 in inference.
    #[test]
    fn combinations_come_once() {
        let flags = ["--models", "lenet5", "--modes", "train,infer", "--batch", "1,2", "--optimizer", "sgd,adam"];
        let all = asked(&flags);
        assert_eq!(all.len(), 4 + 2);
        assert!(all.iter().all(|planned| planned.point.image_size == 32), "what LeNet-5 was made for");
    }

    #[test]
    fn all_models_have_a_small_size() {
        let all = asked(&["--models", "all", "--image-size", "small", "--batch", "2"]);
        assert_eq!(all.len(), ModelName::value_variants().len());
        for planned in &all {
            assert!(matches!(planned.forecast(1000), Forecast::Needs(_)), "{:?}", planned.forecast(1000));
        }
    }

    /// LeNet-5 takes images of 32 x 32 alone. 1,000,000 images of 224 x 224 for ResNet-18 are tens of terabytes.
    #[test]
    fn what_cannot_run_is_known() {
        let lenet = &asked(&["--models", "lenet5", "--image-size", "97"])[0];
        assert!(matches!(lenet.forecast(10), Forecast::Misfit(reason) if reason.contains("--image-size 32")));
        let huge = &asked(&["--models", "resnet18", "--batch", "1000000"])[0].forecast(1000);
        assert!(huge.too_large(Some(1 << 40)).is_some_and(|reason| reason.ends_with("1048576.0 MiB are free")));
        assert_eq!(huge.too_large(None), None, "what is not known refuses nothing");
    }
}
