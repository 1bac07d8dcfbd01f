//! What a run certainly needs, held against the memory of the machine.
use anyhow::{Result, ensure};
use procfs::{Current, Meminfo};

use crate::cli::{InputArgs, VariationArgs, WorkArgs};
use crate::device::DeviceName;
use crate::model::shape::Shape;
use crate::model::stage::Stage;
use crate::model::{ModelName, minimum};
use crate::model_flags;
use crate::optimizer::Optimizer;
use crate::precision::Precision;

/// Checks that the machine has the memory that the run certainly needs. With an optimizer it is a training run, in which each
/// step changes all of the network.
pub fn memory(model: ModelName, work: &WorkArgs, optimizer: Option<Optimizer>, precision: Precision) -> Result<()> {
    memory_of_variation(model, work, optimizer, None, precision)
}

/// The same of a training run that differs from others. What a run needs on a GPU is not the machine's.
pub(super) fn memory_of_variation(
    model: ModelName,
    work: &WorkArgs,
    optimizer: Option<Optimizer>,
    variation: Option<&VariationArgs>,
    precision: Precision,
) -> Result<()> {
    if work.device != DeviceName::Cpu {
        return Ok(());
    }
    let Some(there) = machine_bytes() else { return Ok(()) };
    let (flag, size) = (InputArgs::size_flag(model), work.input.size(model));
    let mut stages = model.stages(work.input.classes(model));
    if let Some(variation) = variation {
        variation.train_only.freeze_least(&mut stages);
    }
    // A batch that cannot be run in so many parts is refused elsewhere.
    let at_once = work.batch / variation.map_or(1, |variation| variation.accumulate).clamp(1, work.batch);
    let needed = of_stages(&stages, at_once, model.input_of(size), optimizer, precision)?;
    let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
    ensure!(
        needed <= there,
        "--batch {} with {flag} {size}: {model} needs at least {} MB for this, and the machine has {} MB; give a \
         smaller --batch or {flag}",
        work.batch,
        megabytes(needed),
        megabytes(there)
    );
    Ok(())
}

/// Checks that the machine has room for a replay buffer.
pub(super) fn room_for_replay(places: u64) -> Result<()> {
    let (needed, there) = (model_flags::replay_bytes(places), machine_bytes().unwrap_or(u64::MAX));
    ensure!(
        needed <= there,
        "--replay {places}: a buffer of so many moves takes {} MB, and the machine has {} MB; give a smaller --replay",
        needed.div_ceil(1_000_000),
        there / 1_000_000
    );
    Ok(())
}

/// The bytes that a run certainly needs. With an optimizer it is a training run.
pub fn least_bytes(
    model: ModelName,
    batch: u64,
    size: u64,
    classes: u64,
    optimizer: Option<Optimizer>,
    precision: Precision,
) -> Result<u64> {
    of_stages(&model.stages(classes), batch, model.input_of(size), optimizer, precision)
}

fn of_stages(
    stages: &[Stage],
    batch: u64,
    input: Shape,
    optimizer: Option<Optimizer>,
    precision: Precision,
) -> Result<u64> {
    let copies = 1 + optimizer.map_or(0, Optimizer::states);
    Ok(minimum::minimum_bytes(stages, batch, input, optimizer.is_some(), copies, precision)?)
}

/// Memory and swap of the machine in bytes; unknown where there is no /proc.
fn machine_bytes() -> Option<u64> {
    let memory = Meminfo::current().ok()?;
    Some(memory.mem_total + memory.swap_total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every machine that runs this has more than a megabyte and less than a petabyte.
    #[test]
    fn memory_of_the_machine() {
        assert!(machine_bytes().is_some_and(|bytes| (1_000_000..1_000_000_000_000_000).contains(&bytes)));
    }
}
