//! The pictures of a sweep: box plots of step times, memory against batch, throughput and time against batch, models side
//! by side.
use std::collections::BTreeSet;

use alloc_timeline::Category;
use anyhow::Result;

use super::point::{Axis, Point, varying};
use super::statistics::{PointStatistics, Quantity};
use crate::chart::{self, BoxRow, COLOURS, Colour, Dot, Line, Part, Scale, Titles};

/// An SVG with its file's name.
pub(super) struct Picture {
    pub(super) name: String,
    /// What it shows, in a few words.
    pub(super) title: String,
    pub(super) svg: String,
}

/// Rows of one picture; a longer one would be read in pieces anyway.
const MOST_ROWS: usize = 48;
/// Lines of one picture: as many as there are colours.
const MOST_LINES: usize = COLOURS.len();

/// All pictures that these points have numbers for.
pub(super) fn pictures(points: &[PointStatistics]) -> Result<Vec<Picture>> {
    let mut all = Vec::new();
    all.extend(step_times(points)?);
    all.extend(models(points)?);
    let series = series(points);
    for (name, title, unit, of) in [
        ("throughput", "Throughput against batch", "samples a second", throughput as fn(&PointStatistics) -> Quantity),
        ("time-per-sample", "Time for a sample against batch", "ms a sample", sample_ms),
    ] {
        for (place, chunk) in series.chunks(MOST_LINES).enumerate() {
            let titles = titles(title, "batch (samples in a step)", unit);
            let svg = against_batch(&titles, chunk, of)?;
            all.push(Picture { name: numbered(name, place), title: title.to_owned(), svg });
        }
    }
    for (place, series) in series.iter().enumerate() {
        if let Some(svg) = memory_against_batch(series)? {
            all.push(Picture {
                name: numbered("memory-against-batch", place),
                title: "Peak live bytes against batch".to_owned(),
                svg,
            });
        }
    }
    Ok(all)
}

fn titles(title: &str, below: &str, left: &str) -> Titles {
    Titles { title: title.to_owned(), below: below.to_owned(), left: left.to_owned() }
}

fn numbered(name: &str, place: usize) -> String {
    if place == 0 { format!("{name}.svg") } else { format!("{name}-{}.svg", place + 1) }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn throughput(point: &PointStatistics) -> Quantity {
    point.samples_per_second()
}

fn sample_ms(point: &PointStatistics) -> Quantity {
    let Quantity { median, mut interval } = point.sample_ns();
    (interval.low, interval.high) = (interval.low / 1e6, interval.high / 1e6);
    Quantity { median: median / 1e6, interval }
}

/// Box plots of the step times of all points.
fn step_times(points: &[PointStatistics]) -> Result<Vec<Picture>> {
    let axes = varying(points.iter().map(|of| &of.point));
    let row = |of: &PointStatistics| BoxRow {
        name: of.point.name(&axes),
        min: of.step_ns.min / 1e6,
        q1: of.step_ns.q1 / 1e6,
        median: of.step_ns.median / 1e6,
        q3: of.step_ns.q3 / 1e6,
        max: of.step_ns.max / 1e6,
    };
    let title = "Time of a step: least, quartiles, most";
    let draw = |(place, chunk): (usize, &[PointStatistics])| {
        let rows: Vec<BoxRow> = chunk.iter().map(row).collect();
        let svg = chart::boxes(&titles(title, "ms", ""), &rows)?;
        Ok(Picture { name: numbered("step-time", place), title: title.to_owned(), svg })
    };
    points.chunks(MOST_ROWS).enumerate().map(draw).collect()
}

/// The categories that any point has at its peak, in the order in which they are drawn, with their colours.
fn categories<'a>(points: impl Iterator<Item = &'a PointStatistics> + Clone) -> Vec<(Category, Colour)> {
    let some = |category: &Category| {
        points.clone().any(|of| of.peak_by_category.get(category.name()).is_some_and(|&bytes| bytes > 0))
    };
    Category::ALL.into_iter().filter(some).map(|category| (category, chart::of_category(category))).collect()
}

fn parts(points: &[&PointStatistics]) -> Vec<Part> {
    let value =
        |of: &PointStatistics, category: Category| mib(of.peak_by_category.get(category.name()).copied().unwrap_or(0));
    let part = |(category, colour): (Category, _)| Part {
        name: category.name().replace('_', " "),
        colour,
        values: points.iter().map(|of| value(of, category)).collect(),
    };
    categories(points.iter().copied()).into_iter().map(part).collect()
}

/// Where several models ran: of the points that differ in the model alone, one bar each, for each group of such points.
fn models(points: &[PointStatistics]) -> Result<Vec<Picture>> {
    // What stands in the title is what the models of one picture have in common.
    let shared = |point: &Point| {
        let Point { mode, batch, optimizer, precision, allocator, threads, .. } = point.clone();
        (mode, batch, optimizer, precision, allocator, threads)
    };
    let mut groups: Vec<Vec<&PointStatistics>> = Vec::new();
    for of in points.iter().filter(|of| of.peak_live_bytes.is_some()) {
        match groups.iter_mut().find(|group| shared(&group[0].point) == shared(&of.point)) {
            Some(group) => group.push(of),
            None => groups.push(vec![of]),
        }
    }
    let count = |group: &[&PointStatistics]| group.iter().map(|of| &of.point.model).collect::<BTreeSet<_>>().len();
    // The groups with the most models: a batch of which only two ran would say little beside one of which all did.
    let most = groups.iter().map(|group| count(group)).max().unwrap_or(0);
    groups.retain(|group| most > 1 && count(group) == most);
    let mut all = Vec::new();
    for (place, mut group) in groups.into_iter().enumerate() {
        let first = &group[0].point;
        let shared = [Axis::Mode, Axis::Batch, Axis::Optimizer, Axis::Precision, Axis::Allocator, Axis::Threads];
        let conditions = first.name(&shared);
        let title = format!("Peak live bytes by category: {conditions}");
        group.sort_by_key(|of| std::cmp::Reverse(of.peak_live_bytes));
        group.truncate(MOST_ROWS);
        let sizes = varying(group.iter().map(|of| &of.point));
        let axes: Vec<Axis> = [Axis::Model, Axis::ImageSize, Axis::Length]
            .into_iter()
            .filter(|axis| *axis == Axis::Model || sizes.contains(axis))
            .collect();
        let names: Vec<String> = group.iter().map(|of| of.point.name(&axes)).collect();
        let note =
            |of: &&PointStatistics| of.peak_live_bytes.map_or(String::new(), |bytes| format!("{:.1}", mib(bytes)));
        let notes: Vec<String> = group.iter().map(note).collect();
        let svg = chart::rows(&titles(&title, "MiB", ""), &names, &parts(&group), &notes)?;
        all.push(Picture { name: numbered("models", place), title, svg });
    }
    Ok(all)
}

/// Points that differ in the batch alone, two or more, in the order of their batches.
fn series(points: &[PointStatistics]) -> Vec<Vec<&PointStatistics>> {
    let mut all: Vec<Vec<&PointStatistics>> = Vec::new();
    for of in points {
        match all.iter_mut().find(|series| series[0].point.differs_only_in(&of.point, Axis::Batch)) {
            Some(series) => series.push(of),
            None => all.push(vec![of]),
        }
    }
    all.retain(|series| series.len() > 1);
    all.iter_mut().for_each(|series| series.sort_by_key(|of| of.point.batch));
    all
}

/// A line for each series; the bars are the intervals of the medians.
fn against_batch(
    titles: &Titles,
    series: &[Vec<&PointStatistics>],
    of: fn(&PointStatistics) -> Quantity,
) -> Result<String> {
    let mut batches: Vec<u64> = series.iter().flatten().map(|of| of.point.batch).collect();
    batches.sort_unstable();
    batches.dedup();
    let mut axes = varying(series.iter().map(|series| &series[0].point));
    axes.retain(|&axis| axis != Axis::Batch);
    if axes.is_empty() {
        axes.push(Axis::Model);
    }
    let dot = |series: &[&PointStatistics], batch: u64| {
        let Quantity { median, interval } = of(series.iter().find(|of| of.point.batch == batch)?);
        Some(Dot { value: median, low: interval.low, high: interval.high })
    };
    let line = |series: &Vec<&PointStatistics>| Line {
        name: series[0].point.name(&axes),
        dots: batches.iter().map(|&batch| dot(series, batch)).collect(),
    };
    let lines: Vec<Line> = series.iter().map(line).collect();
    let steps: Vec<String> = batches.iter().map(u64::to_string).collect();
    chart::lines(titles, Scale::Fitting, &steps, &lines)
}

/// The peak by category of one series; `None` where nobody counted live bytes.
fn memory_against_batch(series: &[&PointStatistics]) -> Result<Option<String>> {
    if series.iter().any(|of| of.peak_live_bytes.is_none()) {
        return Ok(None);
    }
    let rest: Vec<Axis> = Axis::ALL.into_iter().filter(|&axis| axis != Axis::Batch).collect();
    let title = format!("Peak live bytes against batch: {}", series[0].point.name(&rest));
    let steps: Vec<String> = series.iter().map(|of| of.point.batch.to_string()).collect();
    let titles = titles(&title, "batch (samples in a step)", "MiB");
    chart::columns(&titles, &steps, &parts(series)).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{point, record, statistics};

    fn points(all: &[(&str, u64)]) -> Vec<PointStatistics> {
        let points: Vec<Point> = all.iter().map(|&(model, batch)| point::example(model, batch)).collect();
        let records: Vec<_> =
            points.iter().map(|point| record::example(point.clone(), 1, &[9, 9, 9, 1_000_000, 3_000_000])).collect();
        statistics::by_point(&points, &records, 1)
    }

    fn names(all: &[(&str, u64)]) -> Vec<String> {
        pictures(&points(all)).expect("drawn").into_iter().map(|picture| picture.name).collect()
    }

    #[test]
    fn what_has_no_numbers_has_no_picture() {
        assert_eq!(names(&[("lenet5", 1)]), ["step-time.svg"], "one model, one batch");
        assert_eq!(names(&[("lenet5", 1), ("resnet18", 1)]), ["step-time.svg", "models.svg"]);
        let batches = names(&[("lenet5", 1), ("lenet5", 4)]);
        assert_eq!(batches, ["step-time.svg", "throughput.svg", "time-per-sample.svg", "memory-against-batch.svg"]);
        assert_eq!(names(&[]), [""; 0]);
    }

    /// One model in two precisions at two batches is two series, and the title of each says which; two models in two
    /// precisions are two groups.
    #[test]
    fn precisions_are_told_apart() {
        let of = |model: &str, batch: u64, precision: &str| Point {
            precision: precision.to_owned(),
            ..point::example(model, batch)
        };
        let titles = |all: &[Point], name: &str| -> Vec<bool> {
            let records: Vec<_> = all.iter().map(|point| record::example(point.clone(), 1, &[9, 9, 9, 5, 6])).collect();
            let pictures = pictures(&statistics::by_point(all, &records, 1)).expect("drawn");
            let named = pictures.into_iter().filter(|picture| picture.name.starts_with(name));
            named.map(|picture| picture.svg.contains("bf16")).collect()
        };
        let batches = [("fp32", 1), ("fp32", 4), ("bf16", 1), ("bf16", 4)].map(|(p, batch)| of("lenet5", batch, p));
        assert_eq!(titles(&batches, "memory-against-batch"), [false, true]);
        let models = [("fp32", "lenet5"), ("fp32", "resnet18"), ("bf16", "lenet5"), ("bf16", "resnet18")];
        assert_eq!(titles(&models.map(|(p, model)| of(model, 1, p)), "models"), [false, true]);
    }

    #[test]
    fn points_are_named_in_the_pictures() {
        let all = pictures(&points(&[("lenet5", 1), ("lenet5", 4)])).expect("drawn");
        let svg = |name: &str| &all.iter().find(|picture| picture.name == name).expect("drawn").svg;
        assert!(svg("step-time.svg").contains("batch 4"));
        assert!(svg("throughput.svg").contains("samples a second"));
        assert!(svg("memory-against-batch.svg").contains("activation"));
    }
}
