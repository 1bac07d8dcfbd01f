//! Checks the sums that a timeline promises: a file whose numbers contradict each other is damaged.
use std::collections::BTreeMap;

use crate::analysis::{Analysis, Bucket, Flow, Sums};
use crate::file::{Book, BookLine, Energy, ScopeTimes, Series, Snapshot, StepTimes, Timeline};
use crate::scope::Dimension;
use crate::stacks::{SiteSums, Stacks};
use crate::unread::Unread;

/// The first contradiction among the numbers of a timeline, in words; `None` when there is none.
pub fn contradiction(timeline: &Timeline) -> Option<String> {
    let scopes = timeline.scopes.len();
    let exit = timeline.at_exit.iter().map(|exit| ("at_exit", &exit.snapshot));
    let marks = timeline.marks.iter().filter_map(|mark| Some((mark.name.as_str(), mark.snapshot.as_ref()?)));
    let devices = timeline.devices.iter().filter_map(|device| Some((device.device.as_str(), device.peak.as_ref()?)));
    let mut tables = [("peak", &timeline.peak)].into_iter().chain(exit).chain(marks).chain(devices);
    let marks = timeline.mark_books.iter().map(|mark| (mark.name.as_str(), &mark.book));
    let mut books = timeline.book.iter().map(|book| ("book", book)).chain(marks);
    in_series(&timeline.series)
        .or_else(|| tables.find_map(|(name, table)| in_table(name, table, scopes)))
        .or_else(|| in_analysis(timeline.analysis.as_ref()?, scopes))
        .or_else(|| in_stacks(timeline.stacks.as_ref()?, scopes))
        .or_else(|| in_unread(timeline.unread.as_ref()?, &timeline.peak, scopes))
        .or_else(|| books.find_map(|(name, book)| in_book(name, book)))
        .or_else(|| {
            let lost = timeline.utilisation.as_ref()?.scopes.iter().find(|row| row.scope as usize >= scopes)?;
            Some(format!("\"utilisation\" names scope {}, which does not exist", lost.scope))
        })
        .or_else(|| in_step_times(&timeline.step_times, scopes))
        .or_else(|| in_energy(timeline.energy.as_ref()?, scopes))
}

fn in_series(series: &Series) -> Option<String> {
    let samples = series.time_ns.len();
    let mut lengths = vec![series.live_bytes.len(), series.requested_bytes.len(), series.high_bytes.len()];
    for dimension in Dimension::ALL {
        lengths.extend(series.by(dimension).values().map(Vec::len));
    }
    lengths.extend(series.probes.values().map(Vec::len));
    if lengths.iter().any(|&length| length != samples) {
        return Some(format!("the columns of \"series\" differ in length from its {samples} times"));
    }
    let back = series.time_ns.windows(2).any(|pair| pair[0] > pair[1]);
    back.then(|| "the times of \"series\" go back".to_owned())
}

/// `scopes` is the number of scopes, here and below.
fn in_table(name: &str, table: &Snapshot, scopes: usize) -> Option<String> {
    let sum = table.rows.iter().try_fold(0u64, |sum, row| sum.checked_add(row.usable_bytes));
    if sum != Some(table.live_bytes) {
        return Some(format!("the rows of \"{name}\" do not sum to its live_bytes, {}", table.live_bytes));
    }
    let lost = table.rows.iter().find(|row| row.scope as usize >= scopes)?;
    Some(format!("a row of \"{name}\" names scope {}, which does not exist", lost.scope))
}

fn in_analysis(analysis: &Analysis, scopes: usize) -> Option<String> {
    for histogram in &analysis.histograms {
        let sum = |buckets: &[Bucket]| buckets.iter().map(|bucket| bucket.sums).sum::<Sums>();
        let mut ends = sum(&histogram.lifetimes);
        ends += histogram.held;
        if sum(&histogram.sizes) != ends {
            let category = histogram.category;
            return Some(format!(
                "the sizes of \"{category}\" in \"histograms\" are not its lifetimes and what is held"
            ));
        }
    }
    let flows: Sums = analysis.flows.iter().map(Flow::sums).sum();
    let sizes: Sums = analysis.histograms.iter().flat_map(|one| &one.sizes).map(|bucket| bucket.sums).sum();
    if flows != sizes {
        return Some("\"flows\" and \"histograms\" do not sum to the same".to_owned());
    }
    if let Some(figures) = analysis.figures.iter().find(|figures| {
        let sum = |parts: &BTreeMap<String, u64>| saturating_sum(parts.values().copied());
        [&figures.process_by_phase, &figures.process_by_category].map(sum) != [figures.process_bytes; 2]
    }) {
        let names = [&figures.phase, &figures.layer].map(|name| name.as_deref().unwrap_or("*"));
        return Some(format!(
            "\"figures\" of {}: a split of the process's bytes does not sum to them",
            names.join(", ")
        ));
    }
    let growth = &analysis.growth;
    let columns = growth.owners.iter().map(|owner| &owner.live_bytes).chain([&growth.other_bytes]);
    in_columns("\"growth\"", growth.steps.len(), &growth.live_bytes, columns).or_else(|| {
        let lost = growth.owners.iter().find(|owner| owner.scope as usize >= scopes)?;
        Some(format!("\"growth\" names scope {}, which does not exist", lost.scope))
    })
}

fn in_unread(unread: &Unread, peak: &Snapshot, scopes: usize) -> Option<String> {
    if !unread.is_of(peak.time_ns, peak.live_bytes) {
        return Some("\"unread\" is not of the instant of \"peak\"".to_owned());
    }
    let parts = [&unread.read_later, &unread.workspace, &unread.unread].map(|sums| sums.usable_bytes);
    if saturating_sum(parts.into_iter().chain([unread.unknown_bytes])) != unread.live_bytes {
        return Some(format!("the parts of \"unread\" do not sum to its live_bytes, {}", unread.live_bytes));
    }
    if unread.rows.iter().map(|row| row.sums).sum::<Sums>() != unread.unread {
        return Some("the rows of \"unread\" do not sum to what it says is unread".to_owned());
    }
    let lost = unread.scopes().find(|&scope| scope as usize >= scopes)?;
    Some(format!("a row of \"unread\" names scope {lost}, which does not exist"))
}

fn in_stacks(stacks: &Stacks, scopes: usize) -> Option<String> {
    for site in &stacks.sites {
        if site.scope as usize >= scopes {
            return Some(format!("a site of \"stacks\" names scope {}, which does not exist", site.scope));
        }
        if let Some(call) = site.calls.iter().find(|&&call| call as usize >= stacks.calls.len()) {
            return Some(format!("a site of \"stacks\" names call {call}, which does not exist"));
        }
    }
    if stacks.sums().samples != stacks.samples.taken {
        return Some(format!("the sites of \"stacks\" do not sum to the {} samples taken", stacks.samples.taken));
    }
    // Older recorders did not keep samples by thread.
    let by_thread: SiteSums = stacks.threads.iter().map(|thread| thread.sums).chain([stacks.other_threads]).sum();
    if !by_thread.is_nothing() && by_thread.samples != stacks.samples.taken {
        return Some(format!("the threads of \"stacks\" do not sum to the {} samples taken", stacks.samples.taken));
    }
    let growth = &stacks.growth;
    let columns = growth.columns.iter().map(|column| &column.live_bytes).chain([&growth.other_bytes]);
    in_columns("\"growth\" in \"stacks\"", growth.steps.len(), &growth.live_bytes, columns).or_else(|| {
        let lost = growth.columns.iter().find(|column| column.site as usize >= stacks.sites.len())?;
        Some(format!("\"growth\" in \"stacks\" names site {}, which does not exist", lost.site))
    })
}

/// Whether each column has an entry a step, and the entries of each step sum to its live bytes.
fn in_columns<'a>(
    name: &str,
    steps: usize,
    live_bytes: &[u64],
    columns: impl Iterator<Item = &'a Vec<u64>> + Clone,
) -> Option<String> {
    if live_bytes.len() != steps || columns.clone().any(|column| column.len() != steps) {
        return Some(format!("the columns of {name} differ in length from its {steps} steps"));
    }
    let sum = |step: usize| saturating_sum(columns.clone().map(|column| column[step]));
    let wrong = (0..steps).any(|step| sum(step) != live_bytes[step]);
    wrong.then(|| format!("the columns of {name} do not sum to its live_bytes"))
}

/// Whether the times of each step sum to it, and the steps come one after the other.
fn in_step_times(steps: &[StepTimes], scopes: usize) -> Option<String> {
    let mut before = 0;
    for step in steps {
        let name = format!("\"step_times\" of step {}", step.first_step);
        if step.first_step <= before || step.last_step < step.first_step {
            return Some(format!("{name}: the steps are not in order"));
        }
        before = step.last_step;
        let has_rows = |times: &&ScopeTimes| {
            times.active_ns.len() == times.scopes.len() && times.calls.len() == times.scopes.len()
        };
        let threads = [&step.stepping_thread, &step.other_threads];
        if !threads.iter().all(has_rows) {
            return Some(format!("{name}: the columns differ in length"));
        }
        if saturating_sum(step.stepping_thread.active_ns.iter().copied()) != step.wall_ns {
            return Some(format!("{name}: the times do not sum to its wall_ns, {}", step.wall_ns));
        }
        if let Some(lost) = threads.iter().flat_map(|times| &times.scopes).find(|&&scope| scope as usize >= scopes) {
            return Some(format!("{name} names scope {lost}, which does not exist"));
        }
    }
    None
}

fn in_energy(energy: &Energy, scopes: usize) -> Option<String> {
    if let Some(lost) = energy.scopes.iter().find(|row| row.scope as usize >= scopes) {
        return Some(format!("\"energy\" names scope {}, which does not exist", lost.scope));
    }
    if energy.scopes.iter().any(|row| row.by_meter_uj.len() != energy.meters.len()) {
        return Some(format!("a scope of \"energy\" has not one figure for each of {} meters", energy.meters.len()));
    }
    energy.meters.iter().enumerate().find_map(|(index, meter)| {
        let sum = saturating_sum(energy.scopes.iter().map(|row| row.by_meter_uj[index]));
        (sum != meter.energy_uj.unwrap_or(0))
            .then(|| format!("the scopes of \"energy\" do not sum to what {} measured", meter.name))
    })
}

fn in_book(name: &str, book: &Book) -> Option<String> {
    let sum: i128 = book.lines.iter().map(|line| i128::from(line.bytes)).sum();
    if sum != i128::from(book.rss_bytes) {
        return Some(format!("the lines of \"{name}\" sum to {sum}, not to its rss_bytes, {}", book.rss_bytes));
    }
    let parts = |line: &BookLine| line.parts.iter().map(|part| i128::from(part.bytes)).sum::<i128>();
    let wrong = book.lines.iter().find(|line| !line.parts.is_empty() && parts(line) != i128::from(line.bytes));
    if let Some(line) = wrong {
        return Some(format!("the parts of \"{}\" in \"{name}\" do not sum to its {} bytes", line.name, line.bytes));
    }
    in_beyond(name, book)
}

/// Whether each known total is the one before plus the steps between them, wherever these are all known. A total right
/// behind another has no steps: it begins an account of its own.
fn in_beyond(name: &str, book: &Book) -> Option<String> {
    let mut reached: Option<i128> = None;
    let mut begins = true;
    for line in &book.beyond {
        let bytes = line.bytes.map(i128::from);
        if !line.total {
            reached = reached.zip(bytes).map(|(sum, step)| sum + step);
            begins = false;
            continue;
        }
        if !begins && reached.zip(bytes).is_some_and(|(sum, total)| sum != total) {
            return Some(format!("the lines before \"{}\" in \"{name}\" do not sum to it", line.name));
        }
        reached = bytes;
        begins = true;
    }
    None
}

/// A sum that stays at the largest number where a damaged file would have it overflow.
fn saturating_sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}
