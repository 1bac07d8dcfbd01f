//! How names of owners, places and bands are written.
use alloc_timeline::{Dimension, NONE, Place};

use crate::model::ScopeNames;

/// A name of one dimension: a missing name is `no phase` or the like.
pub(in crate::view) fn name_in(dimension: Dimension, name: &str) -> String {
    if name == NONE { format!("no {dimension}") } else { name.to_owned() }
}

/// A name beside other names of the same owner: a missing name is a dash.
pub(in crate::view) fn name_or_dash(name: &str) -> &str {
    if name == NONE { "-" } else { name }
}

/// The name of a phase or a layer in the recorded figures. There, an empty name is a missing one.
pub(in crate::view) fn figure_name(name: Option<&str>) -> &str {
    name_or_dash(name.filter(|name| !name.is_empty()).unwrap_or(NONE))
}

/// A place in a table: `conv1 in forward`.
pub(in crate::view) fn place_name(place: &Place) -> String {
    layer_in_phase(&place.layer, &place.phase)
}

/// The place in a table that has a row for all places without a name.
pub(in crate::view) fn place_or_others(place: Option<&Place>) -> String {
    place.map_or("other places".to_owned(), place_name)
}

/// An owner as one name: `conv1 in forward, aten::conv2d`.
pub(in crate::view) fn owner_name(scope: &ScopeNames) -> String {
    let known = |name: &str| if name == NONE { String::new() } else { name.to_owned() };
    let place = layer_in_phase(&known(&scope.layer), &known(&scope.phase));
    match (place.as_str(), scope.op.as_str()) {
        (_, NONE) => place,
        (NONE, op) => op.to_owned(),
        (place, op) => format!("{place}, {op}"),
    }
}

/// Empty names are missing ones.
fn layer_in_phase(layer: &str, phase: &str) -> String {
    match (layer, phase) {
        ("", "") => NONE.to_owned(),
        ("", phase) => phase.to_owned(),
        (layer, "") => layer.to_owned(),
        (layer, phase) => format!("{layer} in {phase}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_as_many_names_as_are_known() {
        let name = |layer: &str, phase: &str, op: &str| {
            owner_name(&ScopeNames { layer: layer.into(), phase: phase.into(), op: op.into() })
        };
        assert_eq!(name("conv1", "forward", "aten::conv2d"), "conv1 in forward, aten::conv2d");
        assert_eq!(name("conv1", NONE, NONE), "conv1");
        assert_eq!(name(NONE, NONE, "aten::conv2d"), "aten::conv2d");
        assert_eq!(name(NONE, NONE, NONE), NONE);
    }
}
