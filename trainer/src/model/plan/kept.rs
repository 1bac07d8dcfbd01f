//! What is kept for the backward pass, storage by storage: which layer's operator keeps it, and by which rule.
use super::rule::Rule;
use super::storage::Storages;
use crate::model::loss::LOSS_LAYER;
use crate::model::stage::Stage;

/// A storage that an operator of a layer keeps. One that several operators keep is told once for each, and counted with the
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The layer whose operator keeps it.
    pub layer: String,
    /// Why.
    pub rule: &'static Rule,
    /// Its requested bytes.
    pub bytes: u64,
    /// The layer that allocated it, to which its bytes belong; none where it is the input.
    pub allocated_by: Option<String>,
    /// Where its bytes are counted.
    pub counted: Counted,
}

/// Where the bytes of a storage are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Here.
    Here,
    /// Where a layer's operator kept it before: here or in another layer, by this rule.
    With(String, &'static Rule),
    /// As input: it is not what a network saves.
    AsInput,
}

impl Kept {
    /// Its bytes where they are counted here, else 0.
    pub fn counted_bytes(&self) -> u64 {
        if self.counted == Counted::Here { self.bytes } else { 0 }
    }
}

/// All that is kept, in the order of the stages.
pub(super) fn kept(storages: &Storages, stages: &[Stage]) -> Vec<Kept> {
    let layer = |stage: usize| stages.get(stage).map_or(LOSS_LAYER, |stage| &stage.name).to_owned();
    let mut rows: Vec<(usize, Kept)> = Vec::new();
    for storage in &storages.storages {
        for (number, keeper) in storage.keepers.iter().enumerate() {
            let first = storage.keepers[0];
            let counted = match &storage.owner {
                None => Counted::AsInput,
                Some(_) if number == 0 => Counted::Here,
                Some(_) => Counted::With(layer(first.stage), first.rule),
            };
            let kept = Kept {
                layer: layer(keeper.stage),
                rule: keeper.rule,
                bytes: storage.bytes,
                allocated_by: storage.owner.clone(),
                counted,
            };
            rows.push((keeper.stage, kept));
        }
    }
    // Stable: within a stage in the order of the storages.
    rows.sort_by_key(|(stage, _)| *stage);
    rows.into_iter().map(|(_, kept)| kept).collect()
}
