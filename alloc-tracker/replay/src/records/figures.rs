//! What the groups say: the own peak of each phase, layer and operator, and the figures of phases and layers.
use std::cmp::Reverse;
use std::collections::BTreeMap;

use alloc_timeline::{Category, Dimension, Figures, HighWater, NONE};

use crate::amount::positive;
use crate::group::{Group, GroupKey};
use crate::groups::Groups;
use crate::scope::{NameId, ScopeNames};

/// The most phases, layers, and layers in a phase whose figures reach the file: those with the highest peaks.
const MOST_FIGURES: usize = 200;
/// What the phases beyond those that are kept apart are called together.
const OTHER_PHASES: &str = "other phases";

/// What a table calls a name.
fn shown(names: &dyn ScopeNames, name: NameId) -> &str {
    let text = names.text(name);
    if text.is_empty() { NONE } else { text }
}

/// The own peaks of phases, layers and operators. Categories have none: what a block was for may be known only when it
/// is freed.
pub fn high_waters(groups: &Groups, names: &dyn ScopeNames) -> Vec<HighWater> {
    let water = |group: &Group| match group.key {
        GroupKey::Named(dimension, name) if group.peak.usable > 0 && dimension != Dimension::Category => {
            Some(HighWater {
                dimension,
                name: if name == 0 { NONE } else { names.text(name) }.to_owned(),
                live_bytes: positive(group.peak.usable),
                time_ns: group.peak.time_ns,
                process_live_bytes: positive(group.peak.process),
                requested_bytes: Some(positive(group.peak.requested)),
            })
        }
        _ => None,
    };
    let mut waters: Vec<HighWater> = groups.all().iter().filter_map(water).collect();
    waters.sort_by(|a, b| (a.dimension, &a.name).cmp(&(b.dimension, &b.name)));
    waters
}

/// A group whose figures reach the file, with its phase and its layer; `None`: whichever.
type Owner<'a> = (&'a Group, Option<NameId>, Option<NameId>);

/// The figures of phases, of layers, and of layers in a phase, each the highest peak first.
pub fn figures(groups: &Groups, names: &dyn ScopeNames) -> Vec<Figures> {
    let mut kinds: [Vec<Owner>; 3] = Default::default();
    for group in groups.all().iter().filter(|group| group.peak.usable > 0) {
        match group.key {
            GroupKey::Named(Dimension::Phase, phase) => kinds[0].push((group, Some(phase), None)),
            GroupKey::Named(Dimension::Layer, layer) => kinds[1].push((group, None, Some(layer))),
            GroupKey::Place { phase, layer } => kinds[2].push((group, Some(phase), Some(layer))),
            GroupKey::Named(..) => {}
        }
    }
    for kind in &mut kinds {
        kind.sort_by_key(|(group, phase, layer)| (Reverse(group.peak.usable), *phase, *layer));
        kind.truncate(MOST_FIGURES);
    }
    kinds.into_iter().flatten().map(|owner| figures_of(owner, groups, names)).collect()
}

fn figures_of((group, phase, layer): Owner, groups: &Groups, names: &dyn ScopeNames) -> Figures {
    let (retained, retained_at) = groups.retained(group);
    let peak = &group.peak;
    let process_bytes = positive(peak.process);
    let phase_name = |number: usize| groups.phase_name(number).map_or(OTHER_PHASES, |name| shown(names, name));
    Figures {
        phase: phase.map(|name| names.text(name).to_owned()),
        layer: layer.map(|name| names.text(name).to_owned()),
        peak_bytes: positive(peak.usable),
        peak_requested_bytes: positive(peak.requested),
        peak_ns: peak.time_ns,
        process_bytes,
        process_by_phase: split(&peak.split.phases, process_bytes, phase_name),
        process_by_category: split(&peak.split.categories, process_bytes, |number| Category::ALL[number].name()),
        retained_bytes: positive(retained),
        retained_at,
        largest_block_bytes: group.largest as u64,
    }
}

/// The parts of `whole` by name. A part can be below zero while one thread has published what it freed and another one
/// not yet what it allocated: that is taken off the others, the largest first, so that the parts make the whole.
fn split<'a>(parts: &[i64], whole: u64, name: impl Fn(usize) -> &'a str) -> BTreeMap<String, u64> {
    let mut some: Vec<(usize, u64)> = parts.iter().map(|part| positive(*part)).enumerate().collect();
    some.sort_by_key(|(number, part)| (Reverse(*part), *number));
    let mut surplus = some.iter().map(|(_, part)| part).sum::<u64>().saturating_sub(whole);
    for (_, part) in &mut some {
        let less = surplus.min(*part);
        *part -= less;
        surplus -= less;
    }
    let mut by_name = BTreeMap::new();
    for (number, part) in some.into_iter().filter(|(_, part)| *part > 0) {
        // A phase may be called like what stands for all others.
        *by_name.entry(name(number).to_owned()).or_default() += part;
    }
    by_name
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn parts_below_zero_are_taken_off_the_largest() {
        let names = ["a", "b", "c"];
        let parts = split(&[70, -20, 50], 100, |number| names[number]);
        assert_eq!(parts.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 50), ("c".to_owned(), 50)]);
        let both = split(&[70, 30], 100, |_| "other phases");
        assert_eq!(both.into_iter().collect::<Vec<_>>(), [("other phases".to_owned(), 100)]);
        assert!(split(&[-3, 2, 1], 0, |number| names[number]).is_empty());
    }
}
