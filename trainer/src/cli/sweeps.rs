//! What can be typed behind `sweep`, and in a sweep's file: the same words, read by the same code.
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use serde::Deserialize;

use super::models::Models;
use super::typed::{self, list, names};
use super::work::{LARGEST_INPUT, MOST_CLASSES, MOST_INPUTS, MOST_STEPS, MOST_THREADS};
use crate::allocator::Spec;
use crate::optimizer::OptimizerName;
use crate::precision::Precision;
use crate::settings::Mode;

/// The flags that make the points, which a file has in their place.
const AXES: [&str; 9] =
    ["models", "modes", "batch", "image_size", "length", "optimizer", "precision", "allocator", "threads"];

/// More runs of one point than this are a mistake.
const MOST_REPEATS: u64 = 1000;

/// A number from 1 to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<const MOST: u64>(pub u64);

/// How large the images are, or how long the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 64 pixels or 32 tokens, or what the network was made for if that is less, or the smallest that works if that is more.
    Small,
    /// What the network was made for.
    Reference,
    /// So many pixels or tokens.
    Number(u64),
}

/// Every combination of these is a point of the sweep.
#[derive(Clone, Debug, Args, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Axes {
    /// The networks, separated by commas, or all.
    #[arg(long, value_name = "LIST", value_delimiter = ',', required_unless_present = "file")]
    #[serde(deserialize_with = "list")]
    pub models: Vec<Models>,
    /// Training, inference or both, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = typed::named::<Mode>, default_value = "train")]
    #[serde(deserialize_with = "names", default = "training")]
    pub modes: Vec<Mode>,
    /// Images or texts in a step, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32")]
    #[serde(deserialize_with = "list", default = "usual_batch")]
    pub batch: Vec<Count<MOST_INPUTS>>,
    /// Height and width of the images in pixels, for networks that read images, separated by commas; or reference, for what
    /// the network was made for; or small, for 64 pixels or what else is small.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "reference")]
    #[serde(deserialize_with = "list", default = "usual_size")]
    pub image_size: Vec<Size>,
    /// Length of the texts in tokens, for networks that read texts, separated by commas; or reference, or small, for 32 tokens
    /// or what else is small.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "reference")]
    #[serde(deserialize_with = "list", default = "usual_size")]
    pub length: Vec<Size>,
    /// The optimizers with their usual settings, separated by commas; used in training.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = typed::named::<OptimizerName>, default_value = "sgd")]
    #[serde(deserialize_with = "names", default = "usual_optimizer")]
    pub optimizer: Vec<OptimizerName>,
    /// The numbers that the network computes in, separated by commas: fp32, bf16, fp16.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fp32")]
    #[serde(deserialize_with = "list", default = "usual_precision")]
    pub precision: Vec<Precision>,
    /// The allocators, separated by commas, as in `compare --allocator`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "jemalloc")]
    #[serde(deserialize_with = "list", default = "usual_allocator")]
    pub allocator: Vec<Spec>,
    /// Threads that libtorch computes with, separated by commas [default: the processors this process may use].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list", default)]
    pub threads: Vec<Count<MOST_THREADS>>,
}

/// What holds for all points.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Common {
    /// How often each point runs, each time in a process of its own [default: 3].
    #[arg(long, value_name = "N")]
    pub repeat: Option<Count<MOST_REPEATS>>,
    /// Steps of each run; the first three warm up [default: 10].
    #[arg(long, value_name = "N")]
    pub steps: Option<Count<MOST_STEPS>>,
    /// Seed of the weights, of the order of the images, and of the order of the runs [default: 1].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of classes that the last layer tells apart [default: each network's].
    #[arg(long, value_name = "N")]
    pub classes: Option<Count<MOST_CLASSES>>,
    /// Folder of the data [default: fixtures/fashion-mnist for images, docs for texts].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// Many points, each in processes of its own.
#[derive(Clone, Debug, Args)]
pub struct SweepArgs {
    /// A TOML file: the settings below that hold for all points, and a [[grid]] for each set of combinations.
    #[arg(value_name = "FILE.toml", conflicts_with_all = AXES)]
    pub file: Option<PathBuf>,
    /// See [`Axes`].
    #[command(flatten)]
    pub axes: Axes,
    /// See [`Common`]. What is typed comes before what the file says.
    #[command(flatten)]
    pub common: Common,
    /// Folder of the results; the same command continues what lies there [default: the file's name without .toml, else
    /// `sweep`].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Run also what cannot fit into the memory that is free.
    #[arg(long)]
    pub anyway: bool,
    /// Run failed points once more.
    #[arg(long)]
    pub retry: bool,
    /// Keep the timeline of each run.
    #[arg(long)]
    pub timelines: bool,
    /// Print one JSON object with each run instead of a table.
    #[arg(long)]
    pub json: bool,
}

fn training() -> Vec<Mode> {
    vec![Mode::Train]
}

fn usual_batch() -> Vec<Count<MOST_INPUTS>> {
    vec![Count(32)]
}

fn usual_size() -> Vec<Size> {
    vec![Size::Reference]
}

fn usual_optimizer() -> Vec<OptimizerName> {
    vec![OptimizerName::default()]
}

fn usual_precision() -> Vec<Precision> {
    vec![Precision::default()]
}

fn usual_allocator() -> Vec<Spec> {
    "jemalloc".parse().into_iter().collect()
}

impl<const MOST: u64> FromStr for Count<MOST> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("0 does nothing; give 1 or more".to_owned()),
            Ok(number) if number > MOST => Err(format!("{number}: more than {MOST} is not supported; give less")),
            Ok(number) => Ok(Count(number)),
            Err(_) => Err(format!("`{text}` is no whole number; give one from 1 to {MOST}")),
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        match text {
            "small" => Ok(Size::Small),
            "reference" => Ok(Size::Reference),
            _ if text.starts_with(|first: char| first.is_ascii_digit()) => {
                text.parse().map(|Count::<LARGEST_INPUT>(number)| Size::Number(number))
            }
            _ => Err(typed::unknown(text, &["small", "reference"], "a number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Task};
    use crate::model::ModelName;
    use clap::Parser;

    fn typed(flags: &[&str]) -> Result<SweepArgs, String> {
        match Cli::try_parse_from([&["trainer", "sweep"], flags].concat()) {
            Ok(Cli { task: Task::Sweep(args) }) => Ok(args),
            Ok(_) => panic!("sweep is the Sweep task"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn lists_of_flags_are_a_grid() {
        let args = typed(&["--models", "lenet5,all", "--batch", "1,4", "--image-size", "small,97"]).expect("fine");
        assert_eq!(args.axes.models, [Models::One(ModelName::LeNet5), Models::All]);
        assert_eq!(args.axes.batch, [Count(1), Count(4)]);
        assert_eq!(args.axes.image_size, [Size::Small, Size::Number(97)]);
        assert_eq!(args.axes.optimizer, [OptimizerName::Sgd]);
        assert_eq!(args.axes.precision, [Precision::Fp32]);
        let args = typed(&["--models", "lenet5", "--precision", "fp32,bf16"]).expect("fine");
        assert_eq!(args.axes.precision, [Precision::Fp32, Precision::Bf16]);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_type() {
        let says = |flags: &[&str], part: &str| {
            let problem = typed(flags).expect_err("refused");
            assert!(problem.contains(part), "{part:?} is missing in {problem}");
        };
        says(&["--models", "resnet19"], "no `resnet19` here; did you mean resnet18?");
        says(&["--models", "lenet5", "--batch", "0"], "0 does nothing; give 1 or more");
        says(&["--models", "lenet5", "--precision", "fp32,tf32"], "tf32: there is no such precision here");
        says(&["--models", "lenet5", "--image-size", "smal"], "no `smal` here; did you mean small?");
        says(&["a.toml", "--batch", "2"], "cannot be used with");
        says(&[], "--models");
    }
}
