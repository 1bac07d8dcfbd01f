//! What becomes of the blocks: the recorded figures of phases and layers, and the ownership matrix summed up by the place
//! that allocated. A place is a layer in a phase.
use std::collections::BTreeMap;

use alloc_timeline::{Analysis, Category, Fate, Figures, Place, Sums};
use serde::Serialize;

/// The recorded figures of one owner, and the figure that follows from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FiguresWithTransient {
    /// The recorded figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// The peak less what was retained.
    pub transient_bytes: u64,
}

/// What became of the blocks that one place allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlaceFates {
    /// The place; `None` stands for all places that the recorder's table had no room for.
    pub place: Option<Place>,
    /// All of its blocks.
    pub all: Sums,
    /// Blocks that the same place freed in the same step.
    pub temporary: Sums,
    /// Blocks that were freed in another place or in a later step.
    pub freed: Sums,
    /// Blocks that are still held.
    pub held: Sums,
    /// The place that freed the most bytes of `freed`, and how many.
    pub freed_mostly_in: Option<(Place, u64)>,
    /// Usable bytes by category.
    pub by_category: BTreeMap<Category, u64>,
}

/// The owners whose figures are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureOwners {
    /// Phases, each with all of its layers.
    Phases,
    /// Layers, each in one phase.
    LayersInPhases,
}

/// The figures of all such owners, the highest peak first.
pub fn figures_of(analysis: &Analysis, owners: FigureOwners) -> Vec<&Figures> {
    let wanted = |figures: &&Figures| match owners {
        FigureOwners::Phases => figures.phase.is_some() && figures.layer.is_none(),
        FigureOwners::LayersInPhases => figures.phase.is_some() && figures.layer.is_some(),
    };
    let mut figures: Vec<&Figures> = analysis.figures.iter().filter(wanted).collect();
    figures.sort_by_key(|figures| std::cmp::Reverse(figures.peak_bytes));
    figures
}

/// The figures of all owners, in the order of the file.
pub fn figures_with_transient(analysis: &Analysis) -> Vec<FiguresWithTransient> {
    let extended = |figures: &Figures| FiguresWithTransient {
        figures: figures.clone(),
        transient_bytes: figures.transient_bytes(),
    };
    analysis.figures.iter().map(extended).collect()
}

/// What became of the blocks known by address, by the place that allocated them: the most bytes first, the places without
/// a name last.
pub fn fates_by_place(analysis: &Analysis) -> Vec<PlaceFates> {
    let mut places: BTreeMap<Option<&Place>, (PlaceFates, BTreeMap<&Place, u64>)> = BTreeMap::new();
    for flow in &analysis.flows {
        let (fates, freed_in) = places.entry(flow.from.as_ref()).or_default();
        let sums = flow.sums();
        fates.place = flow.from.clone();
        fates.all += sums;
        match flow.fate {
            Fate::Temporary => fates.temporary += sums,
            Fate::Freed => fates.freed += sums,
            Fate::Held => fates.held += sums,
        }
        let category = fates.by_category.entry(flow.category).or_default();
        *category = category.saturating_add(flow.usable_bytes);
        if let (Fate::Freed, Some(place)) = (flow.fate, &flow.to) {
            let bytes = freed_in.entry(place).or_default();
            *bytes = bytes.saturating_add(flow.usable_bytes);
        }
    }
    let mut table: Vec<PlaceFates> = places
        .into_values()
        .map(|(fates, freed_in)| {
            let most = freed_in.into_iter().max_by_key(|(_, bytes)| *bytes);
            PlaceFates { freed_mostly_in: most.map(|(place, bytes)| (place.clone(), bytes)), ..fates }
        })
        .collect();
    table.sort_by_key(|fates| (fates.place.is_none(), std::cmp::Reverse(fates.all.usable_bytes)));
    table
}
