//! A plain table of names and scopes, for programs and tests that have no tracker to number them.
use rustc_hash::FxHashMap;

use crate::scope::{NameId, OTHER_NAME, OTHER_SCOPES, Parts, RESERVED_NAMES, ScopeId, ScopeNames};

/// Names and scopes, each numbered once. A clone numbers on by itself.
#[derive(Clone, Debug)]
pub struct NameTable {
    texts: Vec<String>,
    name_of: FxHashMap<String, NameId>,
    scopes: Vec<Parts>,
    scope_of: FxHashMap<Parts, ScopeId>,
}

impl NameTable {
    /// A table with the reserved names and scopes alone.
    pub fn new() -> Self {
        let mut table = NameTable {
            texts: Vec::new(),
            name_of: FxHashMap::default(),
            scopes: Vec::new(),
            scope_of: FxHashMap::default(),
        };
        for reserved in RESERVED_NAMES {
            let phase = table.name(reserved);
            table.scope(Parts { phase, ..Parts::default() });
        }
        table
    }

    /// The number of the name `text`; that of [`OTHER_NAME`] when all numbers are used up.
    pub fn name(&mut self, text: &str) -> NameId {
        if let Some(&name) = self.name_of.get(text) {
            return name;
        }
        let Ok(name) = NameId::try_from(self.texts.len()) else { return self.name_of[OTHER_NAME] };
        self.texts.push(text.to_owned());
        self.name_of.insert(text.to_owned(), name);
        name
    }

    /// The number of the scope with these names; [`OTHER_SCOPES`] when all numbers are used up.
    pub fn scope(&mut self, parts: Parts) -> ScopeId {
        if let Some(&scope) = self.scope_of.get(&parts) {
            return scope;
        }
        let Ok(scope) = ScopeId::try_from(self.scopes.len()) else { return OTHER_SCOPES };
        self.scopes.push(parts);
        self.scope_of.insert(parts, scope);
        scope
    }

    /// The number of the scope of this phase, layer and operator; an empty text stands for none.
    pub fn intern(&mut self, phase: &str, layer: &str, op: &str) -> ScopeId {
        let [phase, layer, op] = [phase, layer, op].map(|text| self.name(text));
        self.scope(Parts { phase, layer, op })
    }
}

impl Default for NameTable {
    fn default() -> Self {
        NameTable::new()
    }
}

impl ScopeNames for NameTable {
    fn parts(&self, scope: ScopeId) -> Parts {
        self.scopes.get(usize::from(scope)).copied().unwrap_or_default()
    }

    fn text(&self, name: NameId) -> &str {
        self.texts.get(name as usize).map_or("", String::as_str)
    }

    fn scope_count(&self) -> usize {
        self.scopes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::{NOBODY, RUNTIME, TRACKER};

    #[test]
    fn the_reserved_scopes_have_their_numbers() {
        let mut names = NameTable::new();
        assert_eq!(names.scope_count(), 4);
        for (scope, name) in [(NOBODY, ""), (TRACKER, "tracker"), (RUNTIME, "runtime"), (OTHER_SCOPES, OTHER_NAME)] {
            assert_eq!((names.intern(name, "", ""), names.describe(scope).phase.as_str()), (scope, name));
        }
    }

    #[test]
    fn one_scope_one_number() {
        let mut names = NameTable::new();
        let scope = names.intern("forward", "layer1.0.conv1", "");
        assert_eq!((scope, names.intern("forward", "layer1.0.conv1", ""), names.scope_count()), (4, 4, 5));
        assert_eq!(names.describe(scope).layer, "layer1.0.conv1");
        assert_eq!((names.parts(99), names.text(99)), (Parts::default(), ""));
    }

    /// A scope number has 16 bits: the scopes after the first 65,536 share one.
    #[test]
    fn scopes_without_a_number_are_the_others() {
        let mut names = NameTable::new();
        let scopes: Vec<ScopeId> = (0..65_536).map(|op| names.scope(Parts { phase: 9, layer: 9, op })).collect();
        assert_eq!((scopes[0], scopes[65_531], scopes[65_532]), (4, u16::MAX, OTHER_SCOPES));
        assert_eq!(names.scope_count(), 65_536);
    }
}
