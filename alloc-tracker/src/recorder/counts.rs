//! The counts of the whole process, as the replay's reports need them.
use std::sync::atomic::Ordering;

use alloc_replay::{Counts, ScopeId};

use crate::ledger::{self, SLACK, Slot, totals};
use crate::{scope, settings};

/// The counts of each scope since the process began: the totals plus what threads have not published yet.
pub fn by_scope() -> Vec<Counts> {
    let mut by_scope: Vec<Counts> = (0..scope::count() as ScopeId).map(|scope| totals::of(scope).read()).collect();
    for (scope, counts) in ledger::live_slots().flat_map(Slot::unpublished) {
        if let Some(sum) = by_scope.get_mut(usize::from(scope)) {
            *sum += counts;
        }
    }
    by_scope
}

/// The number of blocks of the program's that were resized since the process began.
pub fn reallocations() -> u64 {
    totals::REALLOCATIONS.load(Ordering::Relaxed) + ledger::resized()
}

/// The bound in bytes for the error of a sum of live bytes. Every thread may have so many bytes unpublished; in exact
/// mode none has any.
pub fn slack_bytes() -> u64 {
    if settings::exact() {
        return 0;
    }
    ledger::most_threads() as u64 * SLACK as u64
}
