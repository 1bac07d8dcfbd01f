//! One row of the tables: a model, a batch and a size; what the plan says of it, and what a run had.
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use alloc_timeline::{Category, Snapshot, Timeline};
use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::published::{every_map_twice, published};
use crate::child::{self, Job};
use crate::model::ModelName;
use crate::model::needs::{by_layer, total};
use crate::model::peak::Step;
use crate::model::plan::label_bytes;
use crate::optimizer::Optimizer;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) model: ModelName,
    pub(super) batch: u64,
    pub(super) size: u64,
    pub(super) classes: u64,
}

/// Bytes by the name of a category: what is live at the end of the forward pass, and gradients at the end of the backward
/// pass. Of a run, also the workspace at the peak.
pub(super) type ByCategory = BTreeMap<&'static str, u64>;

/// What is known of a point.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) point: Point,
    /// MiB by the seed document.
    pub(super) published: Option<f64>,
    /// Bytes by the document's reading.
    pub(super) every_map_twice: u64,
    /// Bytes at the predicted peak.
    pub(super) plan: u64,
    pub(super) by_category: ByCategory,
    pub(super) measured: Option<Measured>,
}

/// What a run had, in requested bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Measured {
    /// Tensors and workspace at the peak.
    pub(super) tensor_bytes: u64,
    /// All that was live at the peak: also small blocks, and what was there before `main`.
    pub(super) live_bytes: u64,
    pub(super) by_category: ByCategory,
}

impl Row {
    /// What shapes alone say.
    pub(super) fn planned(point: Point, optimizer: Optimizer) -> Result<Row> {
        let Point { model, batch, size, classes } = point;
        let (stages, input) = (model.stages(classes), model.input_of(size));
        let needs = total(&by_layer(&stages, batch, input, optimizer)?);
        let by_category = [
            (Category::Parameter, needs.parameters),
            (Category::Buffer, needs.buffers),
            (Category::OptimizerState, needs.optimizer_state),
            (Category::Input, batch * input.bytes() + label_bytes(&stages, batch, input)?),
            (Category::Activation, needs.saved),
            (Category::Gradient, needs.gradients),
        ];
        Ok(Row {
            point,
            published: published(model, batch, size),
            every_map_twice: every_map_twice(model, batch, input, classes)?,
            plan: Step::of(model, batch, size, classes, optimizer, None)?.peak().bytes,
            by_category: by_category.map(|(category, bytes)| (category.name(), bytes)).into(),
            measured: None,
        })
    }
}

impl Measured {
    /// Runs `job` in a process of its own and reads its timeline, written to `path`.
    pub(super) fn run(job: &Job<'_>, path: &Path) -> Result<Measured> {
        let program = std::env::current_exe().context("cannot find this program's own file to start it again")?;
        let mut command = Command::new(program);
        command.args(job.arguments()).arg("--json-times").arg("--out").arg(path);
        let ran = child::output(&mut command)?;
        ensure!(
            ran.status.success(),
            "{}, batch {}: the run that was to be measured ended with {}:\n{}",
            job.model,
            job.batch,
            ran.status,
            String::from_utf8_lossy(&ran.stderr).trim_end()
        );
        Measured::of(&alloc_timeline::load(path)?)
    }

    /// What a timeline tells.
    fn of(timeline: &Timeline) -> Result<Measured> {
        let last = |name: &str| -> Result<&Snapshot> {
            let marks = timeline.marks.iter().rev().filter(|mark| mark.name == name);
            marks.filter_map(|mark| mark.snapshot.as_ref()).next().context("the run has no table at this mark")
        };
        let (forward, backward) = (last("end of forward")?, last("end of backward")?);
        let at = |table: &Snapshot, category: Category| {
            table.rows.iter().filter(|row| row.category == category).map(|row| row.requested_bytes).sum::<u64>()
        };
        let of_forward =
            [Category::Parameter, Category::Buffer, Category::OptimizerState, Category::Input, Category::Activation];
        let mut by_category: ByCategory =
            of_forward.into_iter().map(|category| (category.name(), at(forward, category))).collect();
        by_category.insert(Category::Gradient.name(), at(backward, Category::Gradient));
        by_category.insert(Category::Workspace.name(), at(&timeline.peak, Category::Workspace));
        let besides: u64 = [Category::Metadata, Category::Runtime, Category::Other]
            .map(|category| at(&timeline.peak, category))
            .iter()
            .sum();
        let live_bytes = timeline.peak.requested_bytes;
        Ok(Measured { tensor_bytes: live_bytes - besides, live_bytes, by_category })
    }
}
