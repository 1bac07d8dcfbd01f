//! `viewer growth`: what stays from step to step.
use crate::analysis::{FEWEST_STEPS, StepGrowth, step_growth};
use crate::model::{Run, change, shortened, size};
use crate::view::text::kind_column::KindColumn;
use crate::view::text::sparkline::sparkline;
use crate::view::text::table::{is_wide, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::names::owner_name;
use crate::view::words::owners::not_recorded;
use crate::view::words::stacks::growing_stacks;
use crate::view::words::time_columns::{TimeColumns, Times};
use crate::view::words::trend::{growth_sentences, others_name, rate_words, trend_words};

/// Characters of an owner's name.
const NAME_WIDTH: usize = 44;
/// Characters of the chart of its bytes, in a terminal that has room for them, and in a narrower one.
const LONG_CHART: usize = 24;
const SHORT_CHART: usize = 6;

/// The owners that grow, since when, and how fast. The table has at most `most` owners.
pub fn growth_text(run: &Run, most: usize, terminal: Terminal) -> String {
    fitted(&text(run, most, terminal.width), terminal.width)
}

fn text(run: &Run, most: usize, width: usize) -> String {
    let mut out = format!("{}\n\n", run.title());
    let Some(growth) = step_growth(&run.timeline) else { return out + not_recorded(&run.timeline) };
    let (Some(first), Some(last)) = (growth.steps.first(), growth.steps.last()) else {
        return out + "Nothing to compare: the program told of no steps (Session::begin_step)\n";
    };
    out.push_str(&format!("What survives from step to step, steps {first} to {last}\n\n"));
    let sentences = growth_sentences(&growth);
    if sentences.is_empty() {
        let few = growth.steps.len() < FEWEST_STEPS;
        let answer = if few { "There are too few steps to tell what grows" } else { "Nothing grows" };
        out.push_str(&format!("  {answer}\n"));
    } else {
        for sentence in &sentences {
            out.push_str(&format!("  {sentence}\n"));
        }
        out.push_str(&format!("  together {} a step\n", change(growth.bytes_per_step.into())));
    }
    out.push_str(&format!("\n{}", growth_table(run, &growth, most, width)));
    let stacks = growing_stacks(run);
    if !stacks.is_empty() {
        out.push_str("\nBy stack, estimated from samples (viewer stacks --of growth)\n");
        stacks.iter().for_each(|sentence| out.push_str(&format!("  {sentence}\n")));
    }
    out
}

/// The owners whose bytes changed, the others, and all.
fn growth_table(run: &Run, growth: &StepGrowth, most: usize, width: usize) -> String {
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    // Beside times, what it does stands below its row where the terminal is narrow.
    let in_note = times.any() && !is_wide(width);
    let chart_width = if in_note || is_wide(width) { LONG_CHART } else { SHORT_CHART };
    let mut heads = vec!["owner", "category", ">held last", ">a step"];
    heads.extend(if in_note { &[][..] } else { &["what it does", "course"] });
    let kinds = KindColumn::new(run);
    let mut table = table(&times.behind(&kinds.behind(&heads)));
    let mut row = |cells: [String; 4], words: String, chart: String, kind: Option<String>, time: Vec<String>| {
        let behind = kind.into_iter().chain(time);
        if in_note {
            table.add_row_with_note(cells.into_iter().chain(behind), format!("{words} {chart}").trim().to_owned());
        } else {
            table.add_row(cells.into_iter().chain([words, chart]).chain(behind));
        }
    };
    for owner in growth.owners.iter().take(most) {
        let cells = [
            shortened(&owner_name(&owner.scope), NAME_WIDTH),
            owner.category.to_string(),
            size(owner.last_bytes()),
            rate_words(&owner.trend),
        ];
        let chart = sparkline(&owner.live_bytes, chart_width);
        let kind = kinds.of(&owner.scope.layer);
        row(cells, trend_words(&owner.trend), chart, kind, times.of_layer(&owner.scope.layer));
    }
    let count = growth.owners.len().saturating_sub(most);
    if count > 0 {
        let rest = growth.owners[most..].iter().map(|owner| owner.last_bytes()).sum();
        let name = format!("rest ({count} owners)");
        row(
            [name, String::new(), size(rest), String::new()],
            String::new(),
            String::new(),
            kinds.blank(),
            times.blank(),
        );
    }
    for (name, column, words) in [
        (others_name(&growth.others), &growth.other_bytes, trend_words(&growth.others)),
        ("= live", &growth.live_bytes, String::new()),
    ] {
        let held = column.last().copied().unwrap_or(0);
        let chart = sparkline(column, chart_width);
        row([name.to_owned(), String::new(), size(held), String::new()], words, chart, kinds.blank(), times.blank());
    }
    let meaning = times.meaning().map_or_else(String::new, |meaning| wrapped(&meaning, "", "  ", width));
    table.text(width) + &meaning
}
