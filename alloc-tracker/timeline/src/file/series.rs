//! The course of a run, in columns.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::scope::Dimension;

/// The course of the run. Every column has one entry per sample. To keep the file small, neighbouring samples may have
/// been merged; then the one with the most live bytes stands for all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Time between two samples, before any merging.
    pub interval_ns: u64,
    /// When, since the session began.
    pub time_ns: Vec<u64>,
    /// Usable bytes not yet freed.
    pub live_bytes: Vec<u64>,
    /// The same in requested bytes.
    pub requested_bytes: Vec<u64>,
    /// The most live bytes since the previous sample; never below `live_bytes`.
    pub high_bytes: Vec<u64>,
    /// Live bytes by phase, layer, op and category: name -> column.
    pub by_phase: BTreeMap<String, Vec<u64>>,
    /// See `by_phase`.
    pub by_layer: BTreeMap<String, Vec<u64>>,
    /// See `by_phase`.
    pub by_op: BTreeMap<String, Vec<u64>>,
    /// See `by_phase`.
    pub by_category: BTreeMap<String, Vec<u64>>,
    /// What the probes read, by probe: `rss`, `jemalloc_resident`, `cgroup_current`, `gpu_process`, ... A probe that the
    /// machine does not have has no column. A reading that failed is null.
    pub probes: BTreeMap<String, Vec<Option<u64>>>,
}

impl Series {
    /// The columns of one dimension.
    pub fn by(&self, dimension: Dimension) -> &BTreeMap<String, Vec<u64>> {
        match dimension {
            Dimension::Phase => &self.by_phase,
            Dimension::Layer => &self.by_layer,
            Dimension::Op => &self.by_op,
            Dimension::Category => &self.by_category,
        }
    }

    /// The columns of one dimension, for changes.
    pub fn by_mut(&mut self, dimension: Dimension) -> &mut BTreeMap<String, Vec<u64>> {
        match dimension {
            Dimension::Phase => &mut self.by_phase,
            Dimension::Layer => &mut self.by_layer,
            Dimension::Op => &mut self.by_op,
            Dimension::Category => &mut self.by_category,
        }
    }
}
