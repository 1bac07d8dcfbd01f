//! `viewer summary`: what ran, who owned the peak, whether it adds up, and what is not known.
use alloc_timeline::Dimension;

use crate::analysis::{no_power, owners, summarise, unread};
use crate::model::{Run, exact, share, size, time};
use crate::view::text::device::device_text;
use crate::view::text::kind_column::KindColumn;
use crate::view::text::power::usage_table;
use crate::view::text::reconcile::peak_account_text;
use crate::view::text::table::{Table, is_wide, owner_cells, short_name, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::facts::{NO_END, facts, losses};
use crate::view::words::names::owner_name;
use crate::view::words::near_limit_text;
use crate::view::words::time_columns::{TimeColumns, Times};
use crate::view::words::trend::growth_paragraph;
use crate::view::words::unread::unread_sentences;

/// Rows of each table.
const MOST_ROWS: usize = 10;

/// The whole summary.
pub fn summary_text(run: &Run, terminal: Terminal) -> String {
    fitted(&text(run, terminal), terminal.width)
}

fn text(run: &Run, terminal: Terminal) -> String {
    let width = terminal.width;
    let summary = summarise(run);
    let peak = &summary.peak;
    let mut out = format!("{}\n\n", run.title());
    let pair = |out: &mut String, name: &str, value: &str| out.push_str(&format!("  {name:<18} {value}\n"));
    for (name, value) in facts(run) {
        out.push_str(&wrapped(&value, &format!("  {name:<18} "), &" ".repeat(21), width));
    }
    out.push_str("\nPeak\n");
    let bytes = |bytes: u64| format!("{:>16} bytes  {:>12}", exact(bytes), size(bytes));
    pair(&mut out, "live", &format!("{}  at {}", bytes(peak.live_bytes), time(peak.time_ns)));
    pair(&mut out, "requested", &bytes(peak.requested_bytes));
    let unattributed =
        format!("{}  {}", bytes(peak.unattributed_bytes), share(peak.unattributed_bytes, peak.live_bytes));
    pair(&mut out, "unattributed", &unattributed);
    if let Some(inherited) = peak.inherited_bytes {
        let inherited = format!("{}  {}", bytes(inherited), share(inherited, peak.live_bytes));
        pair(&mut out, "inherited", &inherited);
    }
    let known = |value: Option<u64>| value.map_or("unavailable".to_owned(), bytes);
    pair(&mut out, "RSS at the peak", &known(summary.rss.at_peak_bytes));
    pair(&mut out, "RSS, highest", &known(summary.rss.peak_bytes));
    let told = |value: Option<u64>| value.map_or(NO_END.to_owned(), bytes);
    pair(&mut out, "tracker's own", &told(summary.tracker.overhead_bytes));
    pair(&mut out, "alive at exit", &told(summary.totals.live_at_exit_bytes));
    let totals = &summary.totals;
    let blocks = format!(
        "{} allocated, {} freed, {} resized",
        exact(totals.allocations),
        exact(totals.frees),
        exact(totals.reallocations)
    );
    pair(&mut out, "blocks", &blocks);
    let meaning = TimeColumns::new(&run.timeline, Times::Both).meaning();
    meaning.iter().for_each(|meaning| out.push_str(&wrapped(meaning, "  ", "    ", width)));
    for dimension in Dimension::ALL {
        out.push_str(&format!("\nPeak by {dimension}\n{}", by_dimension(run, dimension).text(width)));
    }
    out.push_str(&format!("\nHigh waters: each one's own peak\n{}", high_waters(run, width)));
    if let Some(recorded) = &run.timeline.unread {
        out.push_str("\nWhat of the peak was read again: viewer unread\n");
        let sentences = unread_sentences(recorded, &unread(&run.timeline));
        sentences.iter().for_each(|sentence| out.push_str(&wrapped(sentence, "  ", "    ", width)));
    }
    out.push_str(&format!("\nTime and energy: viewer power\n{}", time_and_energy(run, width)));
    let none = summary.devices_unavailable.as_deref();
    let device = device_text(run, &summary.devices, &summary.device_predictions, none, width);
    if !device.is_empty() {
        out.push_str(&format!("\n{device}"));
    }
    out.push_str(&format!("\nAlive at exit\n{}", alive(run, width)));
    let growth = growth_paragraph(run);
    if !growth.is_empty() {
        out.push_str(&format!("\n{}\n", growth.trim_end_matches('\n')));
    }
    out.push_str(&format!("\n{}", peak_account_text(run, terminal)));
    let near = near_limit_text(&run.timeline);
    if !near.is_empty() {
        out.push_str(&format!("\n{near}"));
    }
    out.push_str("\nLost or unavailable\n");
    let losses = losses(run);
    if losses.is_empty() {
        out.push_str("  nothing\n");
    }
    for loss in losses {
        out.push_str(&wrapped(&loss, "  ", "    ", width));
    }
    out
}

/// The names of one dimension at the peak, and the rest of them in one row.
fn by_dimension(run: &Run, dimension: Dimension) -> Table {
    let parts = run.peak_by(dimension);
    let live = run.timeline.peak.live_bytes;
    let times = TimeColumns::for_dimension(&run.timeline, dimension);
    let kinds = KindColumn::for_dimension(run, dimension);
    let mut table = table(&times.behind(&kinds.behind(&[dimension.name(), ">bytes", ">", ">share"])));
    for (name, bytes) in parts.iter().take(MOST_ROWS) {
        let cells = [short_name(name), exact(*bytes), size(*bytes), share(*bytes, live)];
        table.add_row(cells.into_iter().chain(kinds.of(name)).chain(times.of(dimension, name)));
    }
    if parts.len() > MOST_ROWS {
        let bytes = parts[MOST_ROWS..].iter().map(|part| part.1).sum();
        let cells = [format!("rest ({})", parts.len() - MOST_ROWS), exact(bytes), size(bytes), share(bytes, live)];
        let shown = parts.iter().take(MOST_ROWS).map(|part| part.0.as_str());
        table.add_row(cells.into_iter().chain(kinds.blank()).chain(times.of_others(dimension, shown)));
    }
    table
}

/// What the phases and the layers used that were active the longest, or why that is not known.
fn time_and_energy(run: &Run, width: usize) -> String {
    if let Some(why) = no_power(&run.timeline) {
        return format!("  {why}\n");
    }
    let [phases, layers] =
        [Dimension::Phase, Dimension::Layer].map(|by| usage_table(run, by, MOST_ROWS / 2).text(width));
    let mut out = format!("{phases}\n{layers}");
    if let Some(energy) = run.timeline.energy.as_ref().filter(|energy| energy.meters.is_empty()) {
        let kinds = energy.unavailable.iter().map(|reason| reason.split(':').next().unwrap_or_default());
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        out.push_str(&wrapped(
            &format!("energy: unavailable: no sensor of {kinds} could be read"),
            "  ",
            "    ",
            width,
        ));
    }
    out
}

/// The highest of the phases', layers' and operators' own peaks.
fn high_waters(run: &Run, width: usize) -> String {
    let mut high_waters: Vec<_> = run.timeline.high_waters.iter().collect();
    if high_waters.is_empty() {
        return "  none recorded\n".to_owned();
    }
    high_waters.sort_by_key(|high| std::cmp::Reverse(high.live_bytes));
    let times = TimeColumns::new(&run.timeline, Times::Both);
    let kinds = KindColumn::new(run);
    let mut table = table(&times.behind(&kinds.behind(&["", "name", ">bytes", ">", ">at", ">process then"])));
    for dimension in [Dimension::Phase, Dimension::Layer, Dimension::Op] {
        for high in high_waters.iter().filter(|high| high.dimension == dimension).take(MOST_ROWS / 2) {
            let process = size(high.process_live_bytes);
            let row = [exact(high.live_bytes), size(high.live_bytes), time(high.time_ns), process];
            let names = [dimension.name().to_owned(), short_name(&high.name)];
            let kind = if dimension == Dimension::Layer { kinds.of(&high.name) } else { kinds.blank() };
            table.add_row(names.into_iter().chain(row).chain(kind).chain(times.of(dimension, &high.name)));
        }
    }
    table.text(width)
}

/// The biggest owners of what was live at exit.
fn alive(run: &Run, width: usize) -> String {
    let Some(at_exit) = &run.timeline.at_exit else { return format!("  {NO_END}\n") };
    let owners = owners(&at_exit.snapshot, run.scopes());
    if owners.is_empty() {
        return "  nothing\n".to_owned();
    }
    let wide = is_wide(width);
    let names: &[&str] = if wide { &["layer", "phase", "op"] } else { &["owner"] };
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    let kinds = KindColumn::new(run);
    let heads = [names, &["category", ">blocks", ">bytes", ">"]].concat();
    let mut table = table(&times.behind(&kinds.behind(&heads)));
    for owner in owners.iter().take(MOST_ROWS) {
        let numbers = [exact(owner.blocks), exact(owner.bytes), size(owner.bytes)];
        let names = if wide {
            owner_cells(&owner.scope, owner.category).to_vec()
        } else {
            vec![owner_name(&owner.scope), owner.category.to_string()]
        };
        let cells = names.into_iter().chain(numbers).chain(kinds.of(&owner.scope.layer));
        table.add_row(cells.chain(times.of_layer(&owner.scope.layer)));
    }
    table.text(width)
}
