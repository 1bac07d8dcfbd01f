//! What a run certainly needs, held against the memory of the machine.
use anyhow::{Result, ensure};
use procfs::{Current, Meminfo};

use crate::cli::{InputArgs, WorkArgs};
use crate::device::DeviceName;
use crate::model::{ModelName, minimum};
use crate::model_flags;
use crate::optimizer::Optimizer;
use crate::precision::Precision;

/// Checks that the machine has the memory that the run certainly needs. With an optimizer it is a training run. What a run
/// needs on a GPU is not the machine's.
pub fn memory(model: ModelName, work: &WorkArgs, optimizer: Option<Optimizer>, precision: Precision) -> Result<()> {
    if work.device != DeviceName::Cpu {
        return Ok(());
    }
    let Some(there) = machine_bytes() else { return Ok(()) };
    let (flag, size) = (InputArgs::size_flag(model), work.input.size(model));
    let needed = least_bytes(model, work.batch, size, work.input.classes(model), optimizer, precision)?;
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
    let copies = 1 + optimizer.map_or(0, Optimizer::states);
    let stages = model.stages(classes);
    Ok(minimum::minimum_bytes(&stages, batch, model.input_of(size), optimizer.is_some(), copies, precision)?)
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
