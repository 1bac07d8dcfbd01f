//! What nobody read again of the session's peak, as the file has it.
use std::cmp::Reverse;

use alloc_timeline::{Snapshot, Sums, Unread, UnreadRow};

use crate::amount::{Amount, positive};
use crate::blocks::Blocks;
use crate::high_water::HighWaterMark;
use crate::owners::Owners;
use crate::reads::{self, History};

/// Rows that reach the file; the others are one rest for each category and fate.
const MOST_ROWS: usize = 256;

/// Which bytes of the session's peak nobody read again so far. `None` when no read was told before the peak, so that
/// nothing is known.
pub fn unread(owners: &Owners, blocks: &Blocks, peak: &HighWaterMark, snapshot: &Snapshot) -> Option<Unread> {
    let reads = &blocks.reads;
    reads.first.filter(|&first| first <= peak.event)?;
    let mut at_peak = reads.at_peak.of(peak);
    blocks.for_each_storage(owners, |block| at_peak.add(block, None, peak));
    let rows = rows(at_peak.unread.into_iter().collect());
    let (prompt_bytes, prompt_peak_ns) = reads.prompt.highest();
    let [read_later, workspace] = [at_peak.read_later, at_peak.workspace].map(sums);
    let unread: Sums = rows.iter().map(|row| row.sums).collect();
    let known = read_later.usable_bytes + workspace.usable_bytes + unread.usable_bytes;
    Some(Unread {
        time_ns: snapshot.time_ns,
        live_bytes: snapshot.live_bytes,
        read_later,
        workspace,
        unread,
        // The snapshot has no rows for accounts below zero: within the slack its bytes may be fewer than the blocks'.
        unknown_bytes: snapshot.live_bytes.checked_sub(known)?,
        prompt_peak_bytes: positive(prompt_bytes),
        prompt_peak_ns,
        rows,
    })
}

fn rows(mut unread: Vec<(History, reads::Unread)>) -> Vec<UnreadRow> {
    unread.sort_by_key(|(history, unread)| {
        let History { made_in, category, read_in, is_freed, freed_in } = *history;
        (made_in.is_none(), Reverse(unread.amount.usable), made_in, category, read_in, is_freed, freed_in)
    });
    let mut rows: Vec<UnreadRow> = Vec::new();
    for (number, (history, unread)) in unread.into_iter().enumerate() {
        let row = row(history, unread);
        let rest = UnreadRow { made_in: None, read_in: None, freed_in: None, ..row.clone() };
        let same = |kept: &&mut UnreadRow| {
            kept.made_in.is_none() && (kept.category, kept.freed) == (rest.category, rest.freed)
        };
        match rows.iter_mut().skip(MOST_ROWS).find(same) {
            _ if number < MOST_ROWS && row.made_in.is_some() => rows.push(row),
            Some(kept) => {
                kept.reads += rest.reads;
                kept.read_ns = kept.read_ns.max(rest.read_ns);
                kept.freed_ns = kept.freed_ns.into_iter().chain(rest.freed_ns).min();
                kept.sums += rest.sums;
            }
            None => rows.push(rest),
        }
    }
    rows
}

fn row(history: History, unread: reads::Unread) -> UnreadRow {
    let History { made_in, category, read_in, is_freed, freed_in } = history;
    UnreadRow {
        made_in: made_in.map(u32::from),
        category,
        read_in: read_in.map(u32::from),
        read_ns: unread.read_ns,
        reads: unread.reads,
        freed: is_freed,
        freed_in: freed_in.map(u32::from),
        freed_ns: unread.freed_ns,
        sums: sums(unread.amount),
    }
}

fn sums(amount: Amount) -> Sums {
    let Amount { usable, requested, blocks } = amount;
    Sums { usable_bytes: positive(usable), requested_bytes: positive(requested), blocks: positive(blocks) }
}
