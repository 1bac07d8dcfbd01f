//! `viewer owners`: peak, retained bytes, transient bytes and largest block of each phase and layer, and what became of the
//! blocks that were allocated there.
use alloc_timeline::{Analysis, Figures};

use crate::analysis::{FigureOwners, PlaceFates, fates_by_place, figures_of};
use crate::model::{Run, share, shortened, size, time};
use crate::view::text::kind_column::KindColumn;
use crate::view::text::table::{short_name, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::names::{figure_name, place_name, place_or_others};
use crate::view::words::owners::{coverage_sentence, largest_categories, not_recorded, retained_at_word};
use crate::view::words::time_columns::{TimeColumns, Times};

/// Characters of a place's name.
const PLACE_WIDTH: usize = 34;

/// The tables of figures and of fates, each with at most `most` rows.
pub fn owners_text(run: &Run, most: usize, terminal: Terminal) -> String {
    let width = terminal.width;
    let mut out = format!("{}\n", run.title());
    match &run.timeline.analysis {
        None => out.push_str(&format!("\n{}", not_recorded(&run.timeline))),
        Some(analysis) => {
            let times = TimeColumns::new(&run.timeline, Times::Whole);
            times.meaning().iter().for_each(|meaning| out.push_str(&wrapped(meaning, "", "  ", width)));
            out.push_str(&format!("\nPhases\n{}", phases(analysis, &times, most, width)));
            let kinds = KindColumn::new(run);
            out.push_str(&format!("\nLayers in phases\n{}", layers_in_phases(analysis, kinds, &times, most, width)));
            out.push_str(&format!(
                "\nWhat became of the blocks known by address\n{}",
                fates(analysis, kinds, &times, most, width)
            ));
            out.push_str(&format!("{}\n", coverage_sentence(&analysis.coverage)));
        }
    }
    fitted(&out, width)
}

fn name(name: &Option<String>) -> String {
    short_name(figure_name(name.as_deref()))
}

/// Peak, retained bytes and when they were counted, transient bytes, and largest block.
fn figure_cells(figures: &Figures) -> [String; 5] {
    let largest = figures.largest_block_bytes;
    [
        size(figures.peak_bytes),
        size(figures.retained_bytes),
        retained_at_word(figures).to_owned(),
        size(figures.transient_bytes()),
        if largest == 0 { "-".to_owned() } else { size(largest) },
    ]
}

fn phases(analysis: &Analysis, times: &TimeColumns, most: usize, width: usize) -> String {
    let heads = ["phase", ">peak", ">retained", "at end of", ">transient", ">largest block"];
    let mut figures_table = table(&times.behind(&heads));
    let mut at_peak = table(&["phase", ">at its peak", ">process", "of which most"]);
    for figures in figures_of(analysis, FigureOwners::Phases).into_iter().take(most) {
        let (name, categories) = (name(&figures.phase), largest_categories(figures));
        figures_table.add_row([name.clone()].into_iter().chain(figure_cells(figures)).chain(times.of_figures(figures)));
        at_peak.add_row([name, time(figures.peak_ns), size(figures.process_bytes), categories]);
    }
    format!("{}\nWhat was alive at each phase's peak\n{}", figures_table.text(width), at_peak.text(width))
}

fn layers_in_phases(
    analysis: &Analysis,
    kinds: KindColumn<'_>,
    times: &TimeColumns,
    most: usize,
    width: usize,
) -> String {
    // Beside times there is not always room for it.
    let end = if times.any() { "?at end of" } else { "at end of" };
    let heads = ["layer", "phase", ">peak", ">retained", end, ">transient", ">largest block"];
    let mut table = table(&times.behind(&kinds.behind(&heads)));
    let all = figures_of(analysis, FigureOwners::LayersInPhases);
    for figures in all.iter().take(most) {
        let time = times.of_figures(figures);
        let names = [name(&figures.layer), name(&figures.phase)];
        let kind = kinds.of(figures.layer.as_deref().unwrap_or_default());
        table.add_row(names.into_iter().chain(figure_cells(figures)).chain(kind).chain(time));
    }
    let more = all.len().saturating_sub(most);
    let note = if more > 0 { format!("{more} more with smaller peaks (--top)\n") } else { String::new() };
    table.text(width) + &note
}

/// What became of the blocks of each place, and of those of all places that are not displayed.
fn fates(analysis: &Analysis, kinds: KindColumn<'_>, times: &TimeColumns, most: usize, width: usize) -> String {
    let places = fates_by_place(analysis);
    let heads = ["made in", ">bytes", ">temporary", ">freed later", ">held", "mostly freed in"];
    let mut table = table(&times.behind(&kinds.behind(&heads)));
    for fates in places.iter().take(most) {
        let freed_in = fates.freed_mostly_in.as_ref().map_or("-".to_owned(), |(place, _)| place_name(place));
        let cells = fate_cells(&place_or_others(fates.place.as_ref()), fates, &freed_in);
        let kind = kinds.of(fates.place.as_ref().map_or("", |place| &place.layer));
        table.add_row(cells.into_iter().chain(kind).chain(times.of_place(fates.place.as_ref())));
    }
    if places.len() > most {
        let mut rest = PlaceFates::default();
        for fates in &places[most..] {
            rest.all += fates.all;
            rest.temporary += fates.temporary;
            rest.freed += fates.freed;
            rest.held += fates.held;
        }
        let cells = fate_cells(&format!("rest ({} places)", places.len() - most), &rest, "-");
        table.add_row(cells.into_iter().chain(kinds.blank()).chain(times.blank()));
    }
    table.text(width)
}

fn fate_cells(place: &str, fates: &PlaceFates, freed_in: &str) -> [String; 6] {
    let all = fates.all.usable_bytes;
    let [temporary, freed, held] = [fates.temporary, fates.freed, fates.held].map(|sums| share(sums.usable_bytes, all));
    [shortened(place, PLACE_WIDTH), size(all), temporary, freed, held, shortened(freed_in, PLACE_WIDTH)]
}
