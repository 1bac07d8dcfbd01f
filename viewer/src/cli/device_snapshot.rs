//! `viewer device-snapshot FILE [--json]`: a snapshot of PyTorch's caching allocator beside the model of it.
use anyhow::{Result, anyhow};
use serde::Serialize;

use crate::analysis::{DeviceComparison, compare_snapshot};
use crate::cli::args::SnapshotArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load_device_snapshot;
use crate::view::device_snapshot_text;

/// The object that `--json` prints. The field names never change.
#[derive(Serialize)]
struct SnapshotJson<'a> {
    devices: &'a [DeviceComparison],
}

pub(super) fn run(args: &SnapshotArgs) -> Result<Outcome> {
    let snapshot = load_device_snapshot(&args.file)?;
    let devices = compare_snapshot(&snapshot)
        .map_err(|error| anyhow!("{}: the settings in it cannot be read: {error}", args.file.display()))?;
    if args.json {
        return Ok(Outcome::Fine(output::json(&SnapshotJson { devices: &devices })?));
    }
    Ok(Outcome::Fine(device_snapshot_text(&devices, output::terminal())))
}
