//! The sentences that say which of several runs holds more, and why.
use crate::analysis::Comparison;
use crate::model::{change, exact, share, size};

/// One sentence for each run after the first: which of the two holds more, by how much, and because of which category.
pub fn verdicts(comparison: &Comparison<'_>) -> Vec<String> {
    let first = &comparison.runs[0];
    let base = first.timeline.peak.live_bytes;
    (1..comparison.runs.len())
        .map(|index| {
            let other = &comparison.runs[index];
            let difference = comparison.totals.difference(index);
            if difference == 0 {
                return format!("{} and {} peak at the same {} bytes.", first.label, other.label, exact(base));
            }
            let than = if difference > 0 { "more" } else { "less" };
            let amount = u64::try_from(difference.unsigned_abs()).unwrap_or(u64::MAX);
            let part = if base > 0 { format!(" ({})", share(amount, base)) } else { String::new() };
            let mut sentence =
                format!("{} holds {}{part} {than} than {} at its peak", other.label, size(amount), first.label);
            let against = comparison.main_counterweight(index);
            match (comparison.main_cause(index), against) {
                // Where large differences nearly cancel each other, neither of them is "most" of what is left.
                (Some((cause, up)), Some((counter, down)))
                    if up.abs() > difference.abs() && 2 * down.abs() > up.abs() =>
                {
                    let ((more, added), (less, taken)) =
                        if up > 0 { ((cause, up), (counter, down)) } else { ((counter, down), (cause, up)) };
                    let (added, taken) = (change(added), change(taken));
                    sentence
                        .push_str(&format!("; {more} adds the most ({added}), {less} takes the most away ({taken})"));
                }
                (Some((cause, up)), _) => {
                    let part = if 2 * up.abs() > difference.abs() { "most of it" } else { "the largest part" };
                    sentence.push_str(&format!("; {part} is {cause} ({})", change(up)));
                }
                (None, _) => {}
            }
            sentence.push('.');
            sentence
        })
        .collect()
}
