//! The analysis: what became of the blocks, what stayed, and what grows.
use alloc_timeline::{Analysis, Coverage, Fate, Growth, GrowthOwner, Place};

use crate::accounts::{Account, Accounts};
use crate::amount::{Amount, positive};
use crate::counts::Counts;
use crate::flows::Route;
use crate::followed::FollowedSums;
use crate::group::{GroupId, GroupKey};
use crate::growth::StepHistory;
use crate::owners::Owners;
use crate::records::figures::figures;
use crate::scope::TRACKER;

/// What became of the blocks so far. `counts` is what each scope has done since the process began.
pub fn analysis(
    owners: &Owners,
    followed: &FollowedSums,
    growth: &StepHistory,
    counts: &[Counts],
    time_ns: u64,
) -> Analysis {
    let held = |account: &Account| {
        let route = Route { from: account.groups.place, to: None, fate: Fate::Held, category: account.category };
        (route, account.followed)
    };
    let held = owners.accounts.all().iter().map(held);
    Analysis {
        time_ns,
        coverage: coverage(followed, counts),
        figures: figures(&owners.groups, owners.names()),
        flows: followed.flows.table(held, |group| place(owners, group)),
        histograms: followed.histograms.table(),
        growth: growth_by_account(growth, &owners.accounts),
    }
}

fn coverage(followed: &FollowedSums, counts: &[Counts]) -> Coverage {
    let mut all = Counts::default();
    let program = counts.iter().enumerate().filter(|(scope, _)| *scope != usize::from(TRACKER));
    program.for_each(|(_, counts)| all += *counts);
    let Amount { usable, blocks, .. } = followed.all;
    let (bytes, blocks) = (positive(usable), positive(blocks));
    Coverage {
        blocks,
        bytes,
        shrunk_bytes: followed.shrunk as u64,
        // A block that was counted before the recording and was followed during it is in both.
        all_blocks: all.allocations.wrapping_sub(followed.before.frees).max(blocks),
        all_bytes: all.allocated.wrapping_sub(followed.before.freed).max(bytes),
    }
}

fn place(owners: &Owners, group: GroupId) -> Place {
    let text = |name| owners.names().text(name).to_owned();
    match owners.groups.all()[group as usize].key {
        GroupKey::Place { phase, layer } => Place { phase: text(phase), layer: text(layer) },
        GroupKey::Named(..) => Place::default(),
    }
}

fn growth_by_account(growth: &StepHistory, accounts: &Accounts) -> Growth {
    let table = growth.table();
    let owners = table.columns.into_iter().map(|column| {
        let Account { scope, category, .. } = accounts.all()[column.owner];
        GrowthOwner { scope: scope.into(), category, live_bytes: column.live_bytes }
    });
    Growth {
        steps: table.steps,
        live_bytes: table.live_bytes,
        owners: owners.collect(),
        other_bytes: table.other_bytes,
    }
}
