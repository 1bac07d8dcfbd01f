//! The scopes and the kinds of layers that are new since they were last recorded.
use alloc_replay::ScopeId;
use alloc_timeline::Record;

use crate::scope;

/// How many of each have been recorded.
#[derive(Debug, Default)]
pub struct NewNames {
    scopes: usize,
    layer_kinds: usize,
}

impl NewNames {
    /// How many scopes have been recorded.
    pub fn scopes(&self) -> usize {
        self.scopes
    }

    /// The records of what is new.
    pub fn take(&mut self) -> Vec<Record> {
        let count = scope::count();
        let scopes = (self.scopes..count).map(|scope| Record::Scope(scope::describe(scope as ScopeId)));
        let kinds = scope::layer_kinds(self.layer_kinds);
        let kind = |told: &scope::LayerKind| Record::LayerKind {
            layer: scope::text(told.layer).to_owned(),
            kind: told.kind.clone(),
        };
        let mut records: Vec<Record> = scopes.collect();
        for told in kinds {
            records.push(kind(told));
            self.layer_kinds += 1;
        }
        self.scopes = count;
        records
    }
}
