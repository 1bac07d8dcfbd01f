//! Scopes and names as numbers, and how to ask what they stand for.
use std::fmt::Debug;

use alloc_timeline::Scope;

/// A scope's number: it stands for three names, see [`Parts`].
pub type ScopeId = u16;
/// A name's number; 0 is the empty name.
pub type NameId = u32;

/// The scope without a phase, a layer and an operator.
pub const NOBODY: ScopeId = 0;
/// The tracker's own memory; never part of the program's live bytes.
pub const TRACKER: ScopeId = 1;
/// Everything that was allocated before `main`.
pub const RUNTIME: ScopeId = 2;
/// What found no number of its own because all were used up.
pub const OTHER_SCOPES: ScopeId = 3;

/// What [`OTHER_SCOPES`] is called, and every name that found no number of its own.
pub const OTHER_NAME: &str = "other scopes";
/// Names and scopes that have their numbers from the start: scope N is the phase that is called like name N.
pub const RESERVED_NAMES: [&str; 4] = ["", "tracker", "runtime", OTHER_NAME];

/// The three names of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parts {
    /// Phase.
    pub phase: NameId,
    /// Layer path.
    pub layer: NameId,
    /// Operator.
    pub op: NameId,
}

/// What scope and name numbers stand for. Whoever hands out the numbers implements it.
pub trait ScopeNames: Debug {
    /// The three names of `scope`; three times the empty name for a number that nobody has handed out.
    fn parts(&self, scope: ScopeId) -> Parts;

    /// The text of `name`; empty for a number that nobody has handed out.
    fn text(&self, name: NameId) -> &str;

    /// How many scopes there are; their numbers are below this.
    fn scope_count(&self) -> usize;

    /// The scope as the file has it.
    fn describe(&self, scope: ScopeId) -> Scope {
        let Parts { phase, layer, op } = self.parts(scope);
        let [phase, layer, op] = [phase, layer, op].map(|name| self.text(name).to_owned());
        Scope { phase, layer, op }
    }
}
