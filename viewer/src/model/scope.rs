//! The names of a scope, looked up by the number that rows of a timeline carry.
use alloc_timeline::{Category, Dimension, Scope, work_of};
use serde::Serialize;

/// The scope of a row whose number no scope has: a damaged file may contain such a row.
static UNKNOWN: Scope = Scope { phase: String::new(), layer: String::new(), op: String::new() };

/// The scope with this number.
pub fn scope_of(scopes: &[Scope], number: u32) -> &Scope {
    scopes.get(number as usize).unwrap_or(&UNKNOWN)
}

/// The three names of a scope, as they are displayed: [`NONE`](alloc_timeline::NONE) stands for a name that is missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ScopeNames {
    /// Layer path.
    pub layer: String,
    /// Phase.
    pub phase: String,
    /// Operator.
    pub op: String,
}

impl ScopeNames {
    /// The names of the scope with this number.
    pub fn new(scopes: &[Scope], number: u32) -> ScopeNames {
        let scope = scope_of(scopes, number);
        // The category has no influence on the other three dimensions.
        let name = |dimension: Dimension| dimension.of(scope, Category::Other).to_owned();
        ScopeNames { layer: name(Dimension::Layer), phase: name(Dimension::Phase), op: name(Dimension::Op) }
    }
}

/// Which way a phase goes through a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// From its input to its output, in training or in inference.
    Forward,
    /// Back from the loss.
    Backward,
}

/// Which way `phase` goes through a network; `None` for all that does neither. Where a step has several passes, the last part
/// of the name says what is done. A derived phase goes the way of the phase that it stands for.
pub fn pass_of(phase: &str) -> Option<Pass> {
    match work_of(phase) {
        "forward" | "infer" => Some(Pass::Forward),
        "backward" => Some(Pass::Backward),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc_timeline::NONE;

    #[test]
    fn the_last_part_of_a_phase_says_what_is_done() {
        assert_eq!(["forward", "generator/forward", "infer"].map(pass_of), [Some(Pass::Forward); 3]);
        assert_eq!(["backward", "discriminator/real/backward"].map(pass_of), [Some(Pass::Backward); 2]);
        assert_eq!(["optimizer", "forward/loss", NONE, ""].map(pass_of), [None; 4]);
        assert_eq!(["infer (derived)", "backward (derived)"].map(pass_of), [Some(Pass::Forward), Some(Pass::Backward)]);
    }

    #[test]
    fn missing_names_and_missing_scopes_are_none() {
        let scopes = [Scope { phase: "forward".into(), ..Scope::default() }];
        let names = ScopeNames::new(&scopes, 0);
        assert_eq!([names.layer, names.phase, names.op], [NONE, "forward", NONE]);
        assert_eq!(ScopeNames::new(&scopes, 1).phase, NONE);
    }
}
