//! What of the peak nobody read again, with names: who made it, who read it last, and who freed it how long after that.
use std::collections::BTreeMap;

use alloc_timeline::{Category, Sums, Timeline, UnreadRow};
use serde::Serialize;

use crate::model::ScopeNames;

/// Storages with one history that nobody read after the peak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadStorages {
    /// Who made them. Absent: those for which the recorder had no room.
    pub made_in: Option<ScopeNames>,
    /// What they are for.
    pub category: Category,
    /// Who read them last. Absent: nobody ever did.
    pub read_in: Option<ScopeNames>,
    /// When the last of them was read last.
    pub read_ns: Option<u64>,
    /// How often all of them were read.
    pub reads: u64,
    /// Whether they were freed.
    pub freed: bool,
    /// Who freed them, where that is known.
    pub freed_in: Option<ScopeNames>,
    /// When the first of them was freed.
    pub freed_ns: Option<u64>,
    /// How long they were held after their last read, at least. Absent where they were never read or not freed.
    pub held_ns: Option<u64>,
    /// Their bytes and their number.
    #[serde(flatten)]
    pub sums: Sums,
}

/// The storages that nobody read after the peak: first those that were freed, then those that were live to the end of the
/// recording, the largest first in each group. Empty where nobody told what operators read.
pub fn unread(timeline: &Timeline) -> Vec<UnreadStorages> {
    let name = |scope: Option<u32>| scope.map(|scope| ScopeNames::new(&timeline.scopes, scope));
    let storages = |row: &UnreadRow| UnreadStorages {
        made_in: name(row.made_in),
        category: row.category,
        read_in: name(row.read_in),
        read_ns: row.read_ns,
        reads: row.reads,
        freed: row.freed,
        freed_in: name(row.freed_in),
        freed_ns: row.freed_ns,
        held_ns: row.freed_ns.zip(row.read_ns).map(|(freed, read)| freed.saturating_sub(read)),
        sums: row.sums,
    };
    let mut all: Vec<UnreadStorages> = timeline.unread.iter().flat_map(|unread| &unread.rows).map(storages).collect();
    all.sort_by_key(|storages| (!storages.freed, std::cmp::Reverse(storages.sums.usable_bytes)));
    all
}

/// The storages that were freed, by who freed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Release {
    /// Who freed them, where that is known.
    pub freed_in: Option<ScopeNames>,
    /// When the first of them was freed.
    pub first_ns: u64,
    /// The shortest time that storages were held after their last read, and the longest that is known. Absent when none
    /// was ever read.
    pub held_ns: Option<(u64, u64)>,
    /// Their bytes and their number.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Who freed what nobody had read again, the largest first.
pub fn releases(unread: &[UnreadStorages]) -> Vec<Release> {
    let mut by_scope: BTreeMap<Option<&ScopeNames>, Release> = BTreeMap::new();
    for storages in unread.iter().filter(|storages| storages.freed) {
        let first_ns = storages.freed_ns.unwrap_or(0);
        let fresh = || Release { freed_in: storages.freed_in.clone(), first_ns, ..Release::default() };
        let release = by_scope.entry(storages.freed_in.as_ref()).or_insert_with(fresh);
        release.first_ns = release.first_ns.min(first_ns);
        release.sums += storages.sums;
        release.held_ns = match (release.held_ns, storages.held_ns) {
            (Some((least, most)), Some(held)) => Some((least.min(held), most.max(held))),
            (None, Some(held)) => Some((held, held)),
            (known, None) => known,
        };
    }
    let mut releases: Vec<Release> = by_scope.into_values().collect();
    releases.sort_by_key(|release| std::cmp::Reverse(release.sums.usable_bytes));
    releases
}

/// What of the peak nobody read again, in sums. The field names never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadFigures {
    /// The live bytes of the peak: the sum of the next four.
    pub live_bytes: u64,
    /// Storages that were read at or after the peak.
    pub read_later: Sums,
    /// Storages that the operator that made them freed itself.
    pub workspace: Sums,
    /// Storages that nobody read any more.
    pub unread: Sums,
    /// All other blocks: of these nobody tells who reads them.
    pub unknown_bytes: u64,
    /// How high the live bytes would have been, had each storage been freed at its last read.
    pub prompt_peak_bytes: u64,
    /// When that would have been.
    pub prompt_peak_ns: u64,
    /// Who freed what nobody had read again, the largest first.
    pub releases: Vec<Release>,
    /// The storages with one history that were the most bytes.
    pub largest: Option<UnreadStorages>,
}

/// The sums; `None` where nobody told what operators read.
pub fn unread_figures(timeline: &Timeline) -> Option<UnreadFigures> {
    let recorded = timeline.unread.as_ref()?;
    let storages = unread(timeline);
    Some(UnreadFigures {
        live_bytes: recorded.live_bytes,
        read_later: recorded.read_later,
        workspace: recorded.workspace,
        unread: recorded.unread,
        unknown_bytes: recorded.unknown_bytes,
        prompt_peak_bytes: recorded.prompt_peak_bytes,
        prompt_peak_ns: recorded.prompt_peak_ns,
        releases: releases(&storages),
        largest: storages.into_iter().max_by_key(|storages| storages.sums.usable_bytes),
    })
}
