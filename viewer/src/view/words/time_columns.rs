//! The columns that tables of bytes get where times were measured: self time, and energy where the file has it. All tables
//! with layers, operators or phases have them from here.
use alloc_timeline::{Dimension, Figures, NONE, Place, Timeline};

use crate::analysis::{ScopeCosts, TimeAndEnergy, UnreadStorages, is_recorded_as};
use crate::model::{ScopeNames, share};
use crate::view::words::energy::joules;
use crate::view::words::self_time::{basis_words, milliseconds};

/// The most columns of energy.
const MOST_METERS: usize = 3;

/// Which times stand in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::view) enum Times {
    /// One column: of a phase, an operator, or a layer in a phase.
    Whole,
    /// Two columns, forward and backward: of a layer.
    OfLayer,
    /// All of them, for tables in which rows with layers stand between others.
    Both,
}

/// The columns of one table. There are none where no times were measured.
pub(in crate::view) struct TimeColumns {
    costs: Option<ScopeCosts>,
    times: Times,
}

impl TimeColumns {
    /// The columns for a table about this run.
    pub(in crate::view) fn new(timeline: &Timeline, times: Times) -> TimeColumns {
        TimeColumns { costs: ScopeCosts::new(timeline), times }
    }

    /// The columns for a table of names of this dimension: categories have no times.
    pub(in crate::view) fn for_dimension(timeline: &Timeline, dimension: Dimension) -> TimeColumns {
        match dimension {
            Dimension::Phase | Dimension::Op => TimeColumns::new(timeline, Times::Whole),
            Dimension::Layer => TimeColumns::new(timeline, Times::OfLayer),
            Dimension::Category => TimeColumns { costs: None, times: Times::Whole },
        }
    }

    /// Whether there are any.
    pub(in crate::view) fn any(&self) -> bool {
        self.costs.is_some()
    }

    /// Their heads: those first that a table must have.
    pub(in crate::view) fn heads(&self) -> Vec<String> {
        let Some(costs) = &self.costs else { return Vec::new() };
        let times: &[&str] = match self.times {
            Times::Whole => &["self ms"],
            Times::OfLayer => &["forward ms", "backward ms"],
            Times::Both => &["self ms", "forward ms", "backward ms"],
        };
        let meters = costs.meters().iter().take(MOST_METERS);
        times.iter().map(|&head| head.to_owned()).chain(meters.cloned()).chain(["of time".to_owned()]).collect()
    }

    /// The heads of a table in a terminal, with these columns behind its own. Those that only add to others are left out where
    /// the terminal is too narrow.
    pub(in crate::view) fn behind(&self, heads: &[&str]) -> Vec<String> {
        let must = if self.times == Times::OfLayer { 2 } else { 1 };
        let own = self.heads().into_iter().enumerate();
        let own = own.map(|(index, head)| if index < must { format!(">{head}") } else { format!("?>{head}") });
        heads.iter().map(|&head| head.to_owned()).chain(own).collect()
    }

    /// A sentence on what the columns are; `None` where there are none.
    pub(in crate::view) fn meaning(&self) -> Option<String> {
        let costs = self.costs.as_ref()?;
        let basis = basis_words(&costs.basis());
        let times = match self.times {
            Times::OfLayer => {
                format!("forward ms, backward ms: self time of the layer, in all of its rows the same, {basis}")
            }
            Times::Whole | Times::Both => format!(
                "self ms: time in the scopes of a name themselves, {basis}; forward ms, backward ms: that of a layer in the \
                 two passes"
            ),
        };
        let meters = &costs.meters()[..costs.meters().len().min(MOST_METERS)];
        Some(match meters {
            [] => times,
            meters => format!("{times}; {}: energy over the whole recording", meters.join(", ")),
        })
    }

    /// The cells of a name.
    pub(in crate::view) fn of(&self, dimension: Dimension, name: &str) -> Vec<String> {
        self.of_scopes(|names| name_in(names, dimension) == name)
    }

    /// The cells of all names but these.
    pub(in crate::view) fn of_others<'a>(
        &self,
        dimension: Dimension,
        names: impl Iterator<Item = &'a str>,
    ) -> Vec<String> {
        let shown: Vec<&str> = names.collect();
        self.of_scopes(|names| !shown.contains(&name_in(names, dimension)))
    }

    /// The cells of the layer of an owner; dashes for an owner without one.
    pub(in crate::view) fn of_layer(&self, layer: &str) -> Vec<String> {
        if layer == NONE { self.dashes() } else { self.of(Dimension::Layer, layer) }
    }

    /// The cells of a layer in a phase; dashes where they have no names.
    pub(in crate::view) fn of_place(&self, place: Option<&Place>) -> Vec<String> {
        let Some(place) = place else { return self.dashes() };
        self.of_scopes(|names| is_recorded_as(&place.phase, &names.phase) && is_recorded_as(&place.layer, &names.layer))
    }

    /// The cells of a phase, a layer, or a layer in a phase.
    pub(in crate::view) fn of_figures(&self, figures: &Figures) -> Vec<String> {
        let is = |asked: &Option<String>, name: &str| asked.as_ref().is_none_or(|asked| is_recorded_as(asked, name));
        self.of_scopes(|names| is(&figures.phase, &names.phase) && is(&figures.layer, &names.layer))
    }

    /// The cells of the layer that made storages.
    pub(in crate::view) fn of_maker(&self, storages: &UnreadStorages) -> Vec<String> {
        self.of_layer(storages.made_in.as_ref().map_or(NONE, |scope| &scope.layer))
    }

    /// The cells of the scopes that `is_meant`.
    fn of_scopes(&self, is_meant: impl Fn(&ScopeNames) -> bool) -> Vec<String> {
        self.costs.as_ref().map_or_else(Vec::new, |costs| self.cells(costs, &costs.of(is_meant)))
    }

    /// Cells of a row that has no time of its own.
    pub(in crate::view) fn dashes(&self) -> Vec<String> {
        vec!["-".to_owned(); self.heads().len()]
    }

    /// Cells of a row that sums up others.
    pub(in crate::view) fn blank(&self) -> Vec<String> {
        vec![String::new(); self.heads().len()]
    }

    fn cells(&self, costs: &ScopeCosts, cost: &TimeAndEnergy) -> Vec<String> {
        let times: &[u64] = match self.times {
            Times::Whole => &[cost.self_ns],
            Times::OfLayer => &[cost.forward_ns, cost.backward_ns],
            Times::Both => &[cost.self_ns, cost.forward_ns, cost.backward_ns],
        };
        let times = times.iter().map(|&ns| milliseconds(&costs.basis(), ns));
        let energy = costs.meters().iter().take(MOST_METERS);
        let energy = energy.map(|meter| joules(cost.energy_uj.get(meter).copied().unwrap_or(0)));
        times.chain(energy).chain([share(cost.self_ns, costs.whole_ns())]).collect()
    }
}

/// The name of a scope in one dimension. Scopes have no category.
fn name_in(names: &ScopeNames, dimension: Dimension) -> &str {
    match dimension {
        Dimension::Phase => &names.phase,
        Dimension::Layer => &names.layer,
        Dimension::Op => &names.op,
        Dimension::Category => NONE,
    }
}
