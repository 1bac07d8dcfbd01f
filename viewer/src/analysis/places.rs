//! Places (a layer in a phase) by what they hold and what becomes of their blocks: the four figures, and the ownership
//! matrix folded by where the blocks were made.
use std::collections::BTreeMap;

use alloc_timeline::{Analysis, Category, Fate, Figures, NONE, Over, Place, Sums};
use serde::Serialize;

/// The figures of one owner, with what follows from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnFigures {
    /// What was recorded.
    #[serde(flatten)]
    pub figures: Figures,
    /// The peak less what was retained.
    pub transient_bytes: u64,
}

/// What became of the blocks that were made in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Made {
    /// Where; `None` for the rest of a table that had no more room.
    pub place: Option<Place>,
    /// All of them.
    pub all: Sums,
    /// Freed where they were made, in the step that made them.
    pub temporary: Sums,
    /// Freed elsewhere or later.
    pub freed: Sums,
    /// Still held.
    pub held: Sums,
    /// Where the most bytes of `freed` went, and how many.
    pub freed_mostly_in: Option<(Place, u64)>,
    /// Usable bytes by category.
    pub by_category: BTreeMap<Category, u64>,
}

/// The figures: phases, layers, or layers in phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whatever the layer.
    Phase,
    /// Whatever the phase.
    Layer,
    /// Both.
    Cell,
}

/// The figures of one kind, highest peak first.
pub fn figures(analysis: &Analysis, kind: Kind) -> Vec<&Figures> {
    let is = |figures: &&Figures| match kind {
        Kind::Phase => figures.phase.is_some() && figures.layer.is_none(),
        Kind::Layer => figures.phase.is_none() && figures.layer.is_some(),
        Kind::Cell => figures.phase.is_some() && figures.layer.is_some(),
    };
    let mut figures: Vec<&Figures> = analysis.figures.iter().filter(is).collect();
    figures.sort_by_key(|figures| std::cmp::Reverse(figures.peak_bytes));
    figures
}

/// All figures for scripts.
pub fn own_figures(analysis: &Analysis) -> Vec<OwnFigures> {
    let own = |figures: &Figures| OwnFigures { figures: figures.clone(), transient_bytes: figures.transient_bytes() };
    analysis.figures.iter().map(own).collect()
}

/// What became of the blocks known by address, by where they were made; the most bytes first, the rest last.
pub fn made(analysis: &Analysis) -> Vec<Made> {
    let mut places: BTreeMap<Option<&Place>, (Made, BTreeMap<&Place, u64>)> = BTreeMap::new();
    for flow in &analysis.flows {
        let (made, to) = places.entry(flow.from.as_ref()).or_default();
        let sums = flow.sums();
        made.place = flow.from.clone();
        made.all.add(sums);
        match flow.fate {
            Fate::Temporary => made.temporary.add(sums),
            Fate::Freed => made.freed.add(sums),
            Fate::Held => made.held.add(sums),
        }
        let category = made.by_category.entry(flow.category).or_default();
        *category = category.saturating_add(flow.usable_bytes);
        if let (Fate::Freed, Some(place)) = (flow.fate, &flow.to) {
            let bytes = to.entry(place).or_default();
            *bytes = bytes.saturating_add(flow.usable_bytes);
        }
    }
    let mut table: Vec<Made> = places
        .into_values()
        .map(|(mut made, to)| {
            let most = to.into_iter().max_by_key(|(_, bytes)| *bytes);
            made.freed_mostly_in = most.map(|(place, bytes)| (place.clone(), bytes));
            made
        })
        .collect();
    table.sort_by_key(|made| (made.place.is_none(), std::cmp::Reverse(made.all.usable_bytes)));
    table
}

/// A place as tables write it: `conv1 in forward`.
pub fn place_name(place: &Place) -> String {
    match (place.layer.as_str(), place.phase.as_str()) {
        ("", "") => NONE.to_owned(),
        ("", phase) => phase.to_owned(),
        (layer, "") => layer.to_owned(),
        (layer, phase) => format!("{layer} in {phase}"),
    }
}

/// When an owner was over, in words.
pub fn over(over: Over) -> &'static str {
    match over {
        Over::PhaseEnd => "phase",
        Over::StepEnd => "step",
        Over::Now => "run",
    }
}
