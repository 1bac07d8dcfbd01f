//! Networks whose sizes are fixed: DCGAN's images, DQN's frames and actions. What is not typed becomes their own size, what
//! is typed and differs is refused.
use anyhow::{Result, bail, ensure};

use crate::cli::{CLASSES, IMAGE_SIZE, RunArgs};
use crate::model::{ModelName, Objective};
use crate::reinforcement::{PLACE_BYTES, Replay};
use crate::settings::Mode;

/// Places of a replay buffer where none are typed.
const PLACES: u64 = 10_000;
/// So that products of sizes stay far below 2^63.
const MOST_PLACES: u64 = 1_000_000_000;

/// Height and width of the images that `model` works on, when `typed` was asked for.
pub fn image_size(model: ModelName, typed: u64) -> Result<u64> {
    let Some((own, _)) = model.fixed_sizes() else { return Ok(typed) };
    ensure!(
        typed == own || typed == IMAGE_SIZE,
        "--image-size {typed}: {model} works on images of {own}x{own} alone; leave --image-size out"
    );
    Ok(own)
}

/// Outputs of the last layer of `model`, when `typed` classes were asked for.
pub fn classes(model: ModelName, typed: u64) -> Result<u64> {
    let Some((_, own)) = model.fixed_sizes() else { return Ok(typed) };
    let what = match model.objective() {
        Objective::QLearning => format!("has {own} actions in its game"),
        _ => "tells real images from made ones".to_owned(),
    };
    ensure!(
        typed == own || typed == CLASSES,
        "--classes {typed}: {model} {what} and has no classes; leave --classes out"
    );
    Ok(own)
}

/// Checks what only some networks can be told. Returns the places of the replay buffer, if the run has one.
pub fn only_some(args: &RunArgs, mode: Mode) -> Result<Option<u64>> {
    let model = args.model;
    if args.chained.is_some() && model.objective() != Objective::Classes {
        bail!("--chained: the steps of {model} are not written as chained expressions; leave --chained out");
    }
    if model.objective() == Objective::QLearning && mode == Mode::Train {
        return replay(args.replay.unwrap_or(PLACES)).map(Some);
    }
    match args.replay {
        None => Ok(None),
        Some(places) => {
            bail!("--replay {places}: only the training of dqn has a replay buffer; leave it out, or give --model dqn")
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn says<T>(answer: Result<T>) -> String {
        answer.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn own_sizes_where_none_are_typed() {
        assert_eq!(image_size(ModelName::Dcgan, 224).expect("the default"), 64);
        assert_eq!(image_size(ModelName::Dcgan, 64).expect("its own"), 64);
        assert_eq!((image_size(ModelName::Dqn, 224).ok(), classes(ModelName::Dqn, 1000).ok()), (Some(84), Some(3)));
        assert_eq!(image_size(ModelName::ResNet18, 97).expect("any"), 97);
    }

    #[test]
    fn others_are_refused() {
        assert_eq!(
            says(image_size(ModelName::Dcgan, 65)),
            "--image-size 65: dcgan works on images of 64x64 alone; leave --image-size out"
        );
        assert_eq!(
            says(classes(ModelName::Dqn, 10)),
            "--classes 10: dqn has 3 actions in its game and has no classes; leave --classes out"
        );
        assert!(says(replay(4)).starts_with("--replay 4: a move and what is seen of it take 5 frames"));
        assert_eq!(replay_bytes(10_000), 70_620_000);
    }
}
