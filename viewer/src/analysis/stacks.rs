//! Who allocates, by the calls that led to it: the sites of sampled stacks in one of four orders.
use alloc_timeline::{Call, Category, Dimension, Scope, Site, SiteSums, Stacks, Timeline};
use serde::Serialize;

use crate::analysis::{Trend, trend};

/// What sites are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Live at the peak.
    Peak,
    /// Live at the end.
    Leaks,
    /// Allocated at any time.
    Allocated,
    /// More from step to step.
    Growth,
}

/// A stack in a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackSite {
    /// Phase.
    pub phase: String,
    /// Layer path.
    pub layer: String,
    /// Operator.
    pub op: String,
    /// Its calls, the outermost first; empty when none was found.
    pub calls: Vec<Call>,
    /// Whether outer calls are missing.
    pub cut: bool,
    /// Its numbers.
    #[serde(flatten)]
    pub sums: SiteSums,
    /// Whether it grows from step to step; absent when its bytes never changed, or there were no steps.
    pub trend: Option<Trend>,
    /// Live bytes at the end of each step, where there is a trend.
    pub live_bytes: Vec<u64>,
}

impl StackSite {
    fn of(site: &Site, stacks: &Stacks, number: usize, timeline: &Timeline) -> StackSite {
        let nobody = Scope::default();
        let scope = timeline.scopes.get(site.scope as usize).unwrap_or(&nobody);
        let name = |dimension: Dimension| dimension.of(scope, Category::Other).to_owned();
        let calls = site.calls.iter().filter_map(|&call| stacks.calls.get(call as usize).cloned());
        let growth = &stacks.growth;
        let column = growth.columns.iter().find(|column| column.site as usize == number);
        StackSite {
            phase: name(Dimension::Phase),
            layer: name(Dimension::Layer),
            op: name(Dimension::Op),
            calls: calls.collect(),
            cut: site.cut,
            sums: site.sums,
            trend: column.map(|column| trend(&growth.steps, &column.live_bytes)),
            live_bytes: column.map(|column| column.live_bytes.clone()).unwrap_or_default(),
        }
    }

    /// The bytes that a measure compares; of growth those of the last step.
    pub fn bytes(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Growth => self.live_bytes.last().copied().unwrap_or(0),
            measure => bytes(&self.sums, measure),
        }
    }

    /// Bytes a step, when it grows.
    pub fn rate(&self) -> i64 {
        self.trend.map_or(0, |trend| trend.bytes_per_step())
    }

    /// One standard error of those bytes, as a part of them: that of all that was allocated, and more where fewer samples
    /// are left.
    pub fn error(&self, measure: Measure) -> f64 {
        let (allocated, bytes) = (self.sums.allocated_bytes.max(1) as f64, self.bytes(measure).max(1) as f64);
        self.sums.error_bytes as f64 / allocated * (allocated / bytes).max(1.0).sqrt()
    }
}

/// What a measure compares, of the numbers of a site or of all others.
pub fn bytes(sums: &SiteSums, measure: Measure) -> u64 {
    match measure {
        Measure::Peak => sums.peak_bytes,
        Measure::Leaks => sums.exit_bytes,
        Measure::Allocated => sums.allocated_bytes,
        Measure::Growth => 0,
    }
}

/// The sites that have any of what is measured, those with the most first.
pub fn sites(timeline: &Timeline, measure: Measure) -> Vec<StackSite> {
    let Some(stacks) = &timeline.stacks else { return Vec::new() };
    let all = stacks.sites.iter().enumerate().map(|(number, site)| StackSite::of(site, stacks, number, timeline));
    let mut sites: Vec<StackSite> = match measure {
        Measure::Growth => all.filter(|site| site.trend.is_some()).collect(),
        measure => all.filter(|site| site.bytes(measure) > 0).collect(),
    };
    let grows = |site: &StackSite| site.trend.is_some_and(|trend| trend.is_growth());
    sites.sort_by_key(|site| {
        let rate = if measure == Measure::Growth { site.rate() } else { 0 };
        (measure == Measure::Growth && !grows(site), std::cmp::Reverse((rate, site.bytes(measure))))
    });
    sites
}

/// Sites that grow from step to step, the fastest first.
pub fn growing_sites(timeline: &Timeline) -> Vec<StackSite> {
    let sites = sites(timeline, Measure::Growth);
    sites.into_iter().filter(|site| site.trend.is_some_and(|trend| trend.is_growth())).collect()
}
