//! What a run does over and over, by what its network learns and by the mode.
use anyhow::{Context, Result, ensure};

use super::autocast::Numbers;
use super::checkpointed::Checkpointed;
use super::dcgan::{self, Adversaries, Generation};
use super::dqn::{Playing, QLearning};
use super::error::During;
use super::infer::Inference;
use super::recording::Recording;
use super::step::Step;
use super::train::Training;
use crate::checkpoint::Prepared;
use crate::console;
use crate::data::Batches;
use crate::model::stored::{self, Taken};
use crate::model::{Network, Objective, dqn};
use crate::settings::{Layout, Settings};

/// Makes the networks, their weights drawn from libtorch's generator, and what the mode adds to them.
pub(super) fn work(
    settings: &Settings,
    batches: Option<Batches>,
    plan: Option<Prepared>,
    recording: &Recording,
) -> Result<Box<dyn Step>> {
    let batches = || batches.context("the checks let a run through that needs data and has none");
    let labelled = |network: tch::Result<Network>| {
        let mut network = network.during("making the network")?;
        if settings.variation.layout == Layout::ChannelsLast {
            network.put_channels_last().during("putting the channels of its weights last")?;
        }
        recording.label_variables(network.store());
        Ok::<Network, anyhow::Error>(network)
    };
    let of_stages = |stages| {
        let network = labelled(Network::init(stages, settings.device.into()))?;
        Ok::<Network, anyhow::Error>(network.with_in_place(settings.in_place).with_chained(settings.chained))
    };
    let weighted = |network: Network| {
        let Some(path) = &settings.variation.weights else { return Ok::<Network, anyhow::Error>(network) };
        let taken = stored::take(network.store(), path);
        let Taken { taken, left } = taken.with_context(|| format!("{}: the weights cannot be read", path.display()))?;
        let (shown, model) = (path.display(), settings.model);
        ensure!(taken > 0, "{shown}: none of its variables has the name and the shape of one of {model}'s");
        if !left.is_empty() {
            let left = left.join(", ");
            console::print_error_line(&format!("note: {shown}: gives {taken} variables; random are still {left}"));
        }
        Ok(network)
    };
    Ok(match (settings.model.objective(), settings.optimizer) {
        (Objective::Classes, Some(optimizer)) => {
            let network = of_stages(settings.stages())?;
            match plan {
                None => Box::new(Training::new(weighted(network)?, optimizer, batches()?, settings)?),
                Some(plan) => Box::new(Checkpointed::new(network, optimizer, batches()?, plan)?),
            }
        }
        (Objective::Classes, None) => {
            let network = of_stages(settings.stages())?;
            Box::new(Inference::new(network, batches()?, Numbers::of(settings)))
        }
        (Objective::Adversarial, Some(optimizer)) => {
            let networks = [labelled(dcgan::generator(settings))?, labelled(dcgan::discriminator(settings))?];
            Box::new(Adversaries::new(networks, optimizer, batches()?, settings)?)
        }
        (Objective::Adversarial, None) => Box::new(Generation::new(labelled(dcgan::generator(settings))?, settings)),
        (Objective::QLearning, Some(optimizer)) => {
            let networks = [of_stages(dqn::policy())?, of_stages(dqn::target())?];
            let places =
                settings.replay.context("the checks let a run through that needs a replay buffer and has none")?;
            Box::new(QLearning::new(networks, optimizer, places, settings, recording)?)
        }
        (Objective::QLearning, None) => Box::new(Playing::new(of_stages(dqn::policy())?, settings)),
    })
}
