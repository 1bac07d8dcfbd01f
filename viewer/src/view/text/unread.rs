//! `viewer unread`: what of the peak nobody read again.
use crate::analysis::{UnreadStorages, unread};
use crate::model::{Run, ScopeNames, exact, shortened, size, time};
use crate::view::text::kind_column::KindColumn;
use crate::view::text::table::{Table, is_wide, short_name, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::names::{name_or_dash, owner_name};
use crate::view::words::time_columns::{TimeColumns, Times};
use crate::view::words::unread::{NOT_TOLD, history, unread_sentences};

/// Characters of the scope in which storages were freed.
const PLACE_WIDTH: usize = 44;

/// The sentences, and the tables of what was freed late and what was held, each with at most `most` rows.
pub fn unread_text(run: &Run, most: usize, terminal: Terminal) -> String {
    let width = terminal.width;
    let mut out = format!("{}\n\n", run.title());
    let Some(recorded) = &run.timeline.unread else { return out + &wrapped(NOT_TOLD.trim_end(), "", "", width) };
    let storages = unread(&run.timeline);
    unread_sentences(recorded, &storages).iter().for_each(|sentence| out.push_str(&wrapped(sentence, "", "  ", width)));
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    let kinds = KindColumn::new(run);
    let (freed, held): (Vec<_>, Vec<_>) = storages.into_iter().partition(|storages| storages.freed);
    for (title, storages) in
        [("Freed later, and not read again before that", freed), ("Held to the end of the recording", held)]
    {
        if !storages.is_empty() {
            let table = if is_wide(width) { wide_table } else { narrow_table };
            out.push_str(&format!("\n{title}\n{}", table(&storages, kinds, &times, most).text(width)));
        }
    }
    if recorded.unread.blocks > 0 {
        times.meaning().iter().for_each(|meaning| out.push_str(&wrapped(meaning, "", "  ", width)));
    }
    fitted(&out, width)
}

/// `layer op` of a scope.
fn layer_and_op(scope: Option<&ScopeNames>, otherwise: &str) -> String {
    scope.map_or(otherwise.to_owned(), |scope| {
        format!("{} {}", short_name(name_or_dash(&scope.layer)), short_name(name_or_dash(&scope.op)))
    })
}

/// What the layer is that made the storages.
fn kind(kinds: KindColumn<'_>, storages: &UnreadStorages) -> Option<String> {
    kinds.of(storages.made_in.as_ref().map_or("", |scope| &scope.layer))
}

fn wide_table(storages: &[UnreadStorages], kinds: KindColumn<'_>, times: &TimeColumns, most: usize) -> Table {
    let heads = ["made by", "category", ">blocks", ">bytes", ">", "last read by", ">at", ">held for", "freed in"];
    let mut table = table(&times.behind(&kinds.behind(&heads)));
    for one in storages.iter().take(most) {
        let or_dash = |ns: Option<u64>| ns.map_or("-".to_owned(), time);
        let cells = [
            layer_and_op(one.made_in.as_ref(), "others"),
            one.category.to_string(),
            exact(one.sums.blocks),
            exact(one.sums.usable_bytes),
            size(one.sums.usable_bytes),
            layer_and_op(one.read_in.as_ref(), "nobody"),
            or_dash(one.read_ns),
            or_dash(one.held_ns),
            one.freed_in.as_ref().map_or("-".to_owned(), |scope| shortened(&owner_name(scope), PLACE_WIDTH)),
        ];
        table.add_row(cells.into_iter().chain(kind(kinds, one)).chain(times.of_maker(one)));
    }
    if let Some([name, numbers @ ..]) = rest(storages, most) {
        let dash = || "-".to_owned();
        let cells = [name, dash()].into_iter().chain(numbers).chain([dash(), dash(), dash(), dash()]);
        table.add_row(cells.chain(kinds.blank()).chain(times.blank()));
    }
    table
}

/// Who read the storages last and who freed them stands below their row.
fn narrow_table(storages: &[UnreadStorages], kinds: KindColumn<'_>, times: &TimeColumns, most: usize) -> Table {
    let mut table = table(&times.behind(&kinds.behind(&["made by", "category", ">blocks", ">bytes", ">"])));
    for one in storages.iter().take(most) {
        let cells = [
            layer_and_op(one.made_in.as_ref(), "others"),
            one.category.to_string(),
            exact(one.sums.blocks),
            exact(one.sums.usable_bytes),
            size(one.sums.usable_bytes),
        ];
        table.add_row_with_note(cells.into_iter().chain(kind(kinds, one)).chain(times.of_maker(one)), history(one));
    }
    if let Some([name, numbers @ ..]) = rest(storages, most) {
        table.add_row([name, "-".to_owned()].into_iter().chain(numbers).chain(kinds.blank()).chain(times.blank()));
    }
    table
}

/// Name, blocks and bytes of the rows that are not shown.
fn rest(storages: &[UnreadStorages], most: usize) -> Option<[String; 4]> {
    let rest = storages.get(most..).filter(|rest| !rest.is_empty())?;
    let sum = |number: fn(&UnreadStorages) -> u64| rest.iter().map(number).fold(0, u64::saturating_add);
    let (blocks, bytes) = (sum(|one| one.sums.blocks), sum(|one| one.sums.usable_bytes));
    Some([format!("rest ({} rows)", rest.len()), exact(blocks), exact(bytes), size(bytes)])
}
