//! Which part of the sampled bytes each of several owners has, as a table.
use alloc_timeline::SiteSums;

use crate::analysis::{Measure, measured_bytes};
use crate::model::{exact, share, size};
use crate::view::text::table::table;

/// What the measured bytes are, as the beginning of a title. `None` for growth, which is known by stack only.
pub fn measured_words(measure: Measure) -> Option<&'static str> {
    match measure {
        Measure::Peak => Some("Who held the peak"),
        Measure::Leaks => Some("Who allocated what was live at exit"),
        Measure::Allocated => Some("Who allocated"),
        Measure::Growth => None,
    }
}

/// The table of the first `most` owners, who are sorted, and of the rest; `owner` is the title of their column.
pub fn parts_table(owner: &str, all: &[(String, SiteSums)], measure: Measure, most: usize, width: usize) -> String {
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
