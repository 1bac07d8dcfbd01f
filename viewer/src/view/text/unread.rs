//! `viewer unread`: what of the peak nobody read again.
use crate::analysis::{UnreadStorages, unread};
use crate::model::{Run, ScopeNames, exact, shortened, size, time};
use crate::view::text::table::{render, short_name, table};
use crate::view::words::names::{name_or_dash, owner_name};
use crate::view::words::unread::{NOT_TOLD, unread_sentences};

/// Characters of the scope in which storages were freed.
const PLACE_WIDTH: usize = 44;

/// The sentences, and the tables of what was freed late and what was held, each with at most `most` rows.
pub fn unread_text(run: &Run, most: usize) -> String {
    let mut out = format!("{}\n\n", run.title());
    let Some(recorded) = &run.timeline.unread else { return out + NOT_TOLD };
    let storages = unread(&run.timeline);
    unread_sentences(recorded, &storages).iter().for_each(|sentence| out.push_str(&format!("{sentence}\n")));
    let (freed, held): (Vec<_>, Vec<_>) = storages.into_iter().partition(|storages| storages.freed);
    for (title, storages) in
        [("Freed later, and not read again before that", freed), ("Held to the end of the recording", held)]
    {
        if !storages.is_empty() {
            out.push_str(&format!("\n{title}\n{}", storage_table(&storages, most)));
        }
    }
    out
}

/// `layer op` of a scope.
fn layer_and_op(scope: Option<&ScopeNames>, otherwise: &str) -> String {
    scope.map_or(otherwise.to_owned(), |scope| {
        format!("{} {}", short_name(name_or_dash(&scope.layer)), short_name(name_or_dash(&scope.op)))
    })
}

fn storage_table(storages: &[UnreadStorages], most: usize) -> String {
    let heads = ["made by", "category", ">blocks", ">bytes", ">", "last read by", ">at", ">held for", "freed in"];
    let mut table = table(&heads);
    for one in storages.iter().take(most) {
        let or_dash = |ns: Option<u64>| ns.map_or("-".to_owned(), time);
        table.add_row([
            layer_and_op(one.made_in.as_ref(), "others"),
            one.category.to_string(),
            exact(one.sums.blocks),
            exact(one.sums.usable_bytes),
            size(one.sums.usable_bytes),
            layer_and_op(one.read_in.as_ref(), "nobody"),
            or_dash(one.read_ns),
            or_dash(one.held_ns),
            one.freed_in.as_ref().map_or("-".to_owned(), |scope| shortened(&owner_name(scope), PLACE_WIDTH)),
        ]);
    }
    let rest = storages.get(most..).unwrap_or_default();
    if !rest.is_empty() {
        let sum = |number: fn(&UnreadStorages) -> u64| rest.iter().map(number).fold(0, u64::saturating_add);
        let (blocks, bytes) = (sum(|one| one.sums.blocks), sum(|one| one.sums.usable_bytes));
        let dash = || "-".to_owned();
        let more = format!("rest ({} rows)", rest.len());
        table.add_row([more, dash(), exact(blocks), exact(bytes), size(bytes), dash(), dash(), dash(), dash()]);
    }
    render(&table)
}
