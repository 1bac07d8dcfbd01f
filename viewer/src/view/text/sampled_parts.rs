//! Which part of the sampled bytes each of several owners has, such as libraries or threads.
use alloc_timeline::SiteSums;

use crate::analysis::{Measure, measured_bytes};
use crate::model::{Run, exact, share, size};
use crate::view::text::table::table;
use crate::view::words::stacks::CUT_SHORT;

/// What owners are called.
pub struct Words {
    /// One of them: the title of their column, and the value of `--by`.
    pub owner: &'static str,
    /// Many of them.
    pub owners: &'static str,
    /// How the title goes on behind "Who held the peak, by".
    pub by: &'static str,
}

/// The owners with the most measured bytes, at most `most` of them. `all` are sorted; `None` where the timeline has none.
pub fn parts_text(
    run: &Run,
    words: &Words,
    all: Option<Vec<(String, SiteSums)>>,
    measure: Measure,
    most: usize,
    width: usize,
) -> String {
    let Words { owner, owners, by } = words;
    let title = format!("{}\n\n", run.title());
    if run.timeline.stacks.as_ref().is_some_and(|stacks| !stacks.complete) {
        return title + CUT_SHORT;
    }
    let what = match measure {
        Measure::Peak => "Who held the peak",
        Measure::Leaks => "Who allocated what was live at exit",
        Measure::Allocated => "Who allocated",
        Measure::Growth => return format!("{title}Growth is known by stack only: leave out --by {owner}\n"),
    };
    let Some(all) = all else {
        return format!(
            "{title}No {owners} were recorded: run the program with ALLOC_TRACKER_STACKS=512KiB, or by `alloc-tracker record`\n"
        );
    };
    let table = parts_table(owner, &all, measure, most, width);
    format!("{title}{what}, by {by}: estimates from samples\n\n{table}")
}

/// The table of the first `most` owners, who are sorted, and of the rest; `owner` is the title of their column.
fn parts_table(owner: &str, all: &[(String, SiteSums)], measure: Measure, most: usize, width: usize) -> String {
    let bytes = |index: usize| measured_bytes(&all[index].1, measure);
    let whole: u64 = (0..all.len()).map(bytes).fold(0, u64::saturating_add);
    let mut table = table(&[">bytes", ">share", ">samples", owner]);
    for (index, (name, sums)) in all.iter().enumerate().take(most) {
        table.add_row([size(bytes(index)), share(bytes(index), whole), exact(sums.samples), name.clone()]);
    }
    if all.len() > most {
        let rest: u64 = (most..all.len()).map(bytes).fold(0, u64::saturating_add);
        table.add_row([size(rest), share(rest, whole), String::new(), format!("rest ({})", all.len() - most)]);
    }
    table.add_row([size(whole), String::new(), String::new(), "= all sampled".to_owned()]);
    table.text(width)
}
