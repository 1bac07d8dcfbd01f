//! What can be typed for some networks alone: sizes that a network fixes itself, chained expressions, a replay buffer.
use anyhow::{Result, bail, ensure};

use crate::checkpoint::Asked;
use crate::cli::{InputArgs, RunArgs};
use crate::model::{ModelName, Objective};
use crate::precision::Precision;
use crate::reinforcement::{PLACE_BYTES, Replay};
use crate::settings::{Mode, Settings};

/// So that products of sizes stay far below 2^63.
const MOST_PLACES: u64 = 1_000_000_000;

/// Checks that nobody asks a network with sizes of its own for others.
pub fn own_sizes(model: ModelName, given: &InputArgs) -> Result<()> {
    let (Some(own), classes) = (model.own_size(), model.default_classes()) else { return Ok(()) };
    if let Some(typed) = given.image_size.filter(|&typed| typed != own) {
        bail!("--image-size {typed}: {model} works on images of {own}x{own} alone; leave --image-size out");
    }
    if let Some(typed) = given.classes.filter(|&typed| typed != classes) {
        let what = match model.objective() {
            Objective::QLearning => format!("knows the {classes} actions of its game"),
            _ => "tells real images from made ones".to_owned(),
        };
        bail!("--classes {typed}: {model} {what} and has no classes; leave --classes out");
    }
    Ok(())
}

/// Checks what only some networks can be told. Returns the places of the replay buffer, if the run has one.
pub fn only_some(args: &RunArgs, mode: Mode) -> Result<Option<u64>> {
    let model = args.model;
    if args.chained.is_some() && model.objective() != Objective::Classes {
        bail!("--chained: the steps of {model} are not written as chained expressions; leave --chained out");
    }
    if model.objective() == Objective::QLearning && mode == Mode::Train {
        return replay(args.replay.unwrap_or(Replay::PLACES)).map(Some);
    }
    match args.replay {
        None => Ok(None),
        Some(places) => {
            bail!("--replay {places}: only the training of dqn has a replay buffer; leave it out, or give --model dqn")
        }
    }
}

/// Checks that a run can follow a plan of checkpoints, and gives it one.
pub fn with_checkpoints(settings: Settings, asked: Option<&Asked>) -> Result<Settings> {
    let Some(asked) = asked else { return Ok(settings) };
    is_chain(settings.model, asked)?;
    ensure!(
        settings.chained.is_none(),
        "--checkpoint {asked}: a chained expression holds every map; leave --chained out"
    );
    ensure!(
        settings.precision == Precision::Fp32,
        "--checkpoint {asked}: a network is run part by part in fp32 alone; leave --precision {} out",
        settings.precision
    );
    ensure!(
        settings.out.is_some() || !asked.needs_costs(),
        "--checkpoint {asked}: what a part of the network takes is measured by the tracker; leave --track off out"
    );
    Ok(Settings { checkpoint: Some(asked.clone()), ..settings })
}

/// Checks that a network can be run part by part.
pub fn is_chain(model: ModelName, asked: &Asked) -> Result<()> {
    ensure!(
        model.objective() == Objective::Classes && !model.reads_text(),
        "--checkpoint {asked}: only networks that tell classes of images apart are run part by part; leave it out, or give \
         --model resnet18"
    );
    Ok(())
}

fn replay(places: u64) -> Result<u64> {
    let fewest = Replay::FEWEST;
    ensure!(
        places >= fewest,
        "--replay {places}: a move and what is seen of it take {fewest} frames; give {fewest} or more"
    );
    ensure!(places <= MOST_PLACES, "--replay {places}: more than {MOST_PLACES} are not supported; give fewer");
    Ok(places)
}

/// Bytes of a replay buffer.
pub fn replay_bytes(places: u64) -> u64 {
    places * PLACE_BYTES
}

/// Whether a run needs data: a generator makes images of noise alone, and dqn's game is built in.
pub fn needs_data(model: ModelName, mode: Mode) -> bool {
    match model.objective() {
        Objective::Classes => true,
        Objective::Adversarial => mode == Mode::Train,
        Objective::QLearning => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says<T>(answer: Result<T>) -> String {
        answer.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn own_sizes_where_none_are_typed() {
        let nothing = InputArgs::default();
        assert_eq!((nothing.size(ModelName::Dcgan), nothing.classes(ModelName::Dcgan)), (64, 1));
        assert_eq!((nothing.size(ModelName::Dqn), nothing.classes(ModelName::Dqn)), (84, 3));
    }

    #[test]
    fn others_are_refused() {
        let image_size = |typed| InputArgs { image_size: Some(typed), ..InputArgs::default() };
        assert!(own_sizes(ModelName::Dcgan, &image_size(64)).is_ok());
        assert!(own_sizes(ModelName::ResNet18, &image_size(65)).is_ok());
        assert_eq!(
            says(own_sizes(ModelName::Dcgan, &image_size(65))),
            "--image-size 65: dcgan works on images of 64x64 alone; leave --image-size out"
        );
        let classes = InputArgs { classes: Some(10), ..InputArgs::default() };
        assert_eq!(
            says(own_sizes(ModelName::Dqn, &classes)),
            "--classes 10: dqn knows the 3 actions of its game and has no classes; leave --classes out"
        );
        assert!(says(replay(4)).starts_with("--replay 4: a move and what is seen of it take 5 frames"));
        assert_eq!(replay_bytes(10_000), 70_620_000);
    }
}
