//! `viewer owners` for people: peak, retained, transient and largest block of each phase and layer, and what became of the
//! blocks that were made there.
use alloc_timeline::{Analysis, Coverage, Figures};

use crate::analysis::{Kind, Made, figures, made, over, place_name};
use crate::model::{Run, share, shortened, size, time};
use crate::view::table::{LONGEST_NAME, part, table, text};

/// What is said of a timeline without an analysis.
pub(crate) const NOT_RECORDED: &str = "Not recorded: this timeline is of a recorder that did not look at it\n";

/// Characters of a place's name.
const PLACE: usize = 34;

/// The four figures and the fates, each table cut to `most` rows.
pub fn owners_text(run: &Run, most: usize) -> String {
    let mut out = format!("{}\n", run.title());
    let Some(analysis) = &run.timeline.analysis else { return format!("{out}\n{NOT_RECORDED}") };
    out.push_str(&format!("\nPhases\n{}", phases(analysis, most)));
    out.push_str(&format!("\nLayers in phases\n{}", cells(analysis, most)));
    out.push_str(&format!("\nWhat became of the blocks known by address\n{}", fates(analysis, most)));
    out.push_str(&format!("{}\n", covered(&analysis.coverage)));
    out
}

fn name(name: &Option<String>) -> String {
    match name.as_deref() {
        None | Some("") => "-".to_owned(),
        Some(name) => part(name, LONGEST_NAME),
    }
}

/// Peak, retained and when, transient, largest block.
fn four(figures: &Figures) -> [String; 5] {
    let largest = figures.largest_block_bytes;
    [
        size(figures.peak_bytes),
        size(figures.retained_bytes),
        over(figures.retained_at).to_owned(),
        size(figures.transient_bytes()),
        if largest == 0 { "-".to_owned() } else { size(largest) },
    ]
}

fn phases(analysis: &Analysis, most: usize) -> String {
    let mut own = table(&["phase", ">peak", ">retained", "at end of", ">transient", ">largest block"]);
    let mut then = table(&["phase", ">at its peak", ">process", "of which most"]);
    for figures in figures(analysis, Kind::Phase).into_iter().take(most) {
        own.add_row([name(&figures.phase)].into_iter().chain(four(figures)));
        then.add_row([name(&figures.phase), time(figures.peak_ns), size(figures.process_bytes), mostly(figures)]);
    }
    format!("{}\nWhat was alive at each phase's peak\n{}", text(&own), text(&then))
}

/// The two largest categories of what was alive then.
pub(crate) fn mostly(figures: &Figures) -> String {
    let mut parts: Vec<(&String, &u64)> = figures.process_by_category.iter().collect();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
    let words = parts.iter().take(2).map(|(name, bytes)| format!("{} {name}", share(**bytes, figures.process_bytes)));
    words.collect::<Vec<_>>().join(", ")
}

fn cells(analysis: &Analysis, most: usize) -> String {
    let mut table = table(&["layer", "phase", ">peak", ">retained", "at end of", ">transient", ">largest block"]);
    let all = figures(analysis, Kind::Cell);
    for figures in all.iter().take(most) {
        table.add_row([name(&figures.layer), name(&figures.phase)].into_iter().chain(four(figures)));
    }
    let more = all.len().saturating_sub(most);
    let note = if more > 0 { format!("{more} more with smaller peaks (--top)\n") } else { String::new() };
    text(&table) + &note
}

fn fates(analysis: &Analysis, most: usize) -> String {
    let made = made(analysis);
    let mut table = table(&["made in", ">bytes", ">temporary", ">freed later", ">held", "mostly freed in"]);
    for made in made.iter().take(most) {
        let place = made.place.as_ref().map_or("other places".to_owned(), place_name);
        let to = made.freed_mostly_in.as_ref().map_or("-".to_owned(), |(place, _)| place_name(place));
        table.add_row(row(shortened(&place, PLACE), made, shortened(&to, PLACE)));
    }
    if made.len() > most {
        let mut rest = Made::default();
        for made in &made[most..] {
            for (sum, part) in [
                (&mut rest.all, made.all),
                (&mut rest.temporary, made.temporary),
                (&mut rest.freed, made.freed),
                (&mut rest.held, made.held),
            ] {
                sum.add(part);
            }
        }
        table.add_row(row(format!("rest ({} places)", made.len() - most), &rest, "-".to_owned()));
    }
    text(&table)
}

fn row(place: String, made: &Made, to: String) -> [String; 6] {
    let all = made.all.usable_bytes;
    let of = |bytes: u64| share(bytes, all);
    let [temporary, freed, held] = [made.temporary, made.freed, made.held].map(|sums| of(sums.usable_bytes));
    [place, size(all), temporary, freed, held, to]
}

/// How much of all that is, in a sentence.
pub(crate) fn covered(coverage: &Coverage) -> String {
    let bytes = share(coverage.bytes, coverage.all_bytes);
    let blocks = share(coverage.blocks, coverage.all_blocks);
    if coverage.blocks == coverage.all_blocks && coverage.bytes == coverage.all_bytes {
        return "These are all blocks".to_owned();
    }
    format!("These are {bytes} of all bytes and {blocks} of all blocks: the others are known as sums by scope alone")
}
