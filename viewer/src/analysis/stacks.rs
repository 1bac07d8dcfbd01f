//! Call stacks: the sites of sampled allocations, sorted by one of four measures.
use alloc_timeline::{Call, Site, SiteSums, Stacks, Timeline};
use serde::Serialize;

use crate::analysis::trend::{Trend, trend};
use crate::model::ScopeNames;

/// The number by which sites are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes live at the peak.
    Peak,
    /// Bytes live at exit.
    Leaks,
    /// Bytes allocated at any time.
    Allocated,
    /// Growth from step to step.
    Growth,
}

/// A stack in a scope, with the numbers that the samples give for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackSite {
    /// Layer, phase and operator.
    #[serde(flatten)]
    pub scope: ScopeNames,
    /// The calls, the outermost first. Empty when none was found.
    pub calls: Vec<Call>,
    /// Whether outer calls are missing.
    pub cut: bool,
    /// Its numbers.
    #[serde(flatten)]
    pub sums: SiteSums,
    /// What its bytes did from step to step. Absent when they never changed, or when there were no steps.
    pub trend: Option<Trend>,
    /// Live bytes at the end of each step. Empty when there is no trend.
    pub live_bytes: Vec<u64>,
}

impl StackSite {
    /// The site with this index in `stacks`.
    fn new(site: &Site, index: usize, stacks: &Stacks, timeline: &Timeline) -> StackSite {
        let calls = site.calls.iter().filter_map(|&call| stacks.calls.get(call as usize).cloned());
        let growth = &stacks.growth;
        let column = growth.columns.iter().find(|column| column.site as usize == index);
        StackSite {
            scope: ScopeNames::new(&timeline.scopes, site.scope),
            calls: calls.collect(),
            cut: site.cut,
            sums: site.sums,
            trend: column.map(|column| trend(&growth.steps, &column.live_bytes)),
            live_bytes: column.map(|column| column.live_bytes.clone()).unwrap_or_default(),
        }
    }

    /// The bytes that are measured. For growth, these are the live bytes at the end of the last step.
    pub fn bytes(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Growth => self.live_bytes.last().copied().unwrap_or(0),
            measure => measured_bytes(&self.sums, measure),
        }
    }

    /// Whether it grows from step to step.
    pub fn grows(&self) -> bool {
        self.trend.is_some_and(|trend| trend.is_growth())
    }

    /// Bytes a step when it grows, 0 otherwise.
    pub fn bytes_per_step(&self) -> i64 {
        self.trend.map_or(0, |trend| trend.bytes_per_step())
    }

    /// One standard error of the measured bytes, as a fraction of them. The recorder gives the error of the allocated
    /// bytes; it is larger for a smaller part of them, because fewer samples make up that part.
    pub fn error(&self, measure: Measure) -> f64 {
        let (allocated, bytes) = (self.sums.allocated_bytes.max(1) as f64, self.bytes(measure).max(1) as f64);
        self.sums.error_bytes as f64 / allocated * (allocated / bytes).max(1.0).sqrt()
    }
}

/// The measured bytes among the sums of one site or of several. Sums contain no growth: it is 0.
pub fn measured_bytes(sums: &SiteSums, measure: Measure) -> u64 {
    match measure {
        Measure::Peak => sums.peak_bytes,
        Measure::Leaks => sums.exit_bytes,
        Measure::Allocated => sums.allocated_bytes,
        Measure::Growth => 0,
    }
}

/// The sites with anything to measure, the most bytes first. For growth, those that grow come first.
pub fn sites(timeline: &Timeline, measure: Measure) -> Vec<StackSite> {
    let Some(stacks) = &timeline.stacks else { return Vec::new() };
    let all = stacks.sites.iter().enumerate().map(|(index, site)| StackSite::new(site, index, stacks, timeline));
    let mut sites: Vec<StackSite> = match measure {
        Measure::Growth => all.filter(|site| site.trend.is_some()).collect(),
        measure => all.filter(|site| site.bytes(measure) > 0).collect(),
    };
    sites.sort_by_key(|site| {
        let rate = if measure == Measure::Growth { site.bytes_per_step() } else { 0 };
        (measure == Measure::Growth && !site.grows(), std::cmp::Reverse((rate, site.bytes(measure))))
    });
    sites
}

/// The sites that grow from step to step, the fastest first.
pub fn growing_sites(timeline: &Timeline) -> Vec<StackSite> {
    sites(timeline, Measure::Growth).into_iter().filter(StackSite::grows).collect()
}
