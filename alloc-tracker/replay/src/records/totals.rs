//! The totals: what all scopes have done.
use alloc_timeline::{ScopeTotals, Totals};

use crate::counts::Counts;
use crate::scope::TRACKER;

/// `counts`, which says what each scope has done since the process began, as the file has it. The tracker's own are left
/// out. `reallocations` is how many blocks changed their size.
pub fn totals(counts: &[Counts], reallocations: u64) -> Totals {
    let program = || counts.iter().enumerate().filter(|(scope, _)| *scope != usize::from(TRACKER));
    let scope = |(scope, counts): (usize, &Counts)| ScopeTotals {
        scope: scope as u32,
        allocations: counts.allocations,
        frees: counts.frees,
        allocated_bytes: counts.allocated,
        moved_in: counts.moved_in.cast_signed(),
    };
    let by_scope: Vec<ScopeTotals> = program().filter(|(_, counts)| **counts != Counts::default()).map(scope).collect();
    Totals {
        allocations: by_scope.iter().map(|scope| scope.allocations).sum(),
        frees: by_scope.iter().map(|scope| scope.frees).sum(),
        allocated_bytes: by_scope.iter().map(|scope| scope.allocated_bytes).sum(),
        reallocations,
        requested_bytes: Some(program().fold(0u64, |sum, (_, counts)| sum.wrapping_add(counts.requested))),
        by_scope,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trackers_own_and_scopes_that_did_nothing_are_left_out() {
        let moved_in = 1_u64.wrapping_neg();
        let did = Counts { allocated: 100, requested: 90, allocations: 2, frees: 1, moved_in, ..Counts::default() };
        let totals = totals(&[did, did, Counts::default(), did], 5);
        let scopes: Vec<u32> = totals.by_scope.iter().map(|scope| scope.scope).collect();
        assert_eq!(scopes, [0, 3]);
        assert_eq!(totals.by_scope[1].moved_in, -1);
        assert_eq!((totals.allocations, totals.frees, totals.allocated_bytes), (4, 2, 200));
        assert_eq!((totals.requested_bytes, totals.reallocations), (Some(180), 5));
    }
}
