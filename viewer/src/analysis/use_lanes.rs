//! How busy the machine was over time: one lane each for processors, page faults, context switches, GPUs and power, on the clock
//! of the timeline.
//!
//! The recorder reads these figures every 100 ms or so and repeats them in the samples between. So time is cut into equal spans of at
//! least that length, where the run is that long; a span has the mean of what was read, or for a counter the events a second.
use alloc_timeline::Timeline;
use serde::Serialize;

use crate::analysis::usage::no_power;
use crate::model::Run;

/// The most spans.
const MOST_SPANS: u64 = 216;
/// The distance of two readings.
const SHORTEST_SPAN_NS: u64 = 100_000_000;

/// What the values of a lane are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneUnit {
    /// Bytes.
    Bytes,
    /// Processors that were busy.
    Cores,
    /// Parts of a hundred, one row for each line.
    Percent,
    /// Events a second.
    PerSecond,
    /// Watts.
    Watts,
}

/// One lane. The field names never change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UseLane {
    /// What it shows.
    pub name: String,
    /// In which unit.
    pub unit: LaneUnit,
    /// One or more figures.
    pub lines: Vec<LaneLine>,
}

/// One figure over time. The field names never change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneLine {
    /// What it is: `user`, `core 0`, `package-0`.
    pub name: String,
    /// Its value in each span; absent where there was no reading.
    pub values: Vec<Option<f64>>,
    /// The mean over the spans that have a value. Live bytes have the mean of what was live, though `values` are the most of each span.
    pub mean: f64,
}

impl LaneLine {
    fn new(name: &str, values: Vec<Option<f64>>) -> LaneLine {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        LaneLine { name: name.to_owned(), values, mean }
    }

    /// The largest value.
    pub fn most(&self) -> f64 {
        self.values.iter().copied().flatten().fold(0.0, f64::max)
    }
}

/// All lanes of one run. The field names never change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UseLanes {
    /// The length of a span.
    pub span_ns: u64,
    /// The lanes, the live bytes first.
    pub lanes: Vec<UseLane>,
    /// A sentence for each lane that there is not.
    pub unavailable: Vec<String>,
}

/// The lanes of a run; `None` where nothing but memory was recorded over time.
pub fn use_lanes(run: &Run) -> Option<UseLanes> {
    let timeline = &run.timeline;
    let spans = Spans::new(timeline);
    let probe = |name: &str| timeline.series.probes.get(name).map(Vec::as_slice);
    let gauge = |name: &str, line: &str, part: f64| Some(spans.gauge(line, probe(name)?, part));
    let counter = |name: &str, line: &str| Some(spans.counter(line, probe(name)?));
    let lane = |name: &str, unit, lines: Vec<Option<LaneLine>>| {
        let lines: Vec<LaneLine> = lines.into_iter().flatten().collect();
        (!lines.is_empty()).then(|| UseLane { name: name.to_owned(), unit, lines })
    };
    let named = |prefix: &str, suffix: &str, line: &str, part: f64| {
        let names = timeline.series.probes.keys();
        let found = names.filter_map(|name| Some((name, name.strip_prefix(prefix)?.strip_suffix(suffix)?)));
        let mut found: Vec<(&String, &str)> = found.collect();
        found.sort_by_key(|(_, part)| (part.parse::<u64>().unwrap_or(u64::MAX), *part));
        found.into_iter().map(|(name, own)| gauge(name, &format!("{line}{own}"), part)).collect::<Vec<_>>()
    };
    let watts = |mut lines: Vec<Option<LaneLine>>| {
        let mean = |line: &Option<LaneLine>| line.as_ref().map_or(0.0, |line| line.mean);
        lines.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        lines
    };
    let busy = [
        lane("processors used", LaneUnit::Cores, vec![gauge("cpu_process_permille", "this process", 1e-3)]),
        lane(
            "cores, by any process",
            LaneUnit::Percent,
            [named("cpu_core_", "_permille", "core ", 0.1), named("cpu_cores_", "_permille", "", 0.1)].concat(),
        ),
        lane(
            "page faults",
            LaneUnit::PerSecond,
            vec![counter("minor_faults", "without a disk"), counter("major_faults", "with a disk")],
        ),
        lane(
            "context switches",
            LaneUnit::PerSecond,
            vec![counter("voluntary_switches", "to wait"), counter("involuntary_switches", "by the kernel")],
        ),
        lane("GPU", LaneUnit::Percent, named("gpu_", "_busy_percent", "GPU ", 1.0)),
        lane("memory of GPUs, by any process", LaneUnit::Bytes, named("gpu_", "_used_bytes", "GPU ", 1.0)),
        lane("power", LaneUnit::Watts, watts(named("power_", "_mw", "", 1e-3))),
    ];
    let busy: Vec<UseLane> = busy.into_iter().flatten().collect();
    if busy.is_empty() {
        return None;
    }
    let readings = |bytes: &[u64]| bytes.iter().copied().map(Some).collect::<Vec<_>>();
    let mean = spans.gauge("live", &readings(&timeline.series.live_bytes), 1.0).mean;
    let live = LaneLine { mean, ..spans.highest("live", &readings(&timeline.series.high_bytes)) };
    let live = UseLane { name: "live bytes".to_owned(), unit: LaneUnit::Bytes, lines: vec![live] };
    let unavailable = missing(run, &busy);
    Some(UseLanes { span_ns: spans.span_ns, lanes: [vec![live], busy].concat(), unavailable })
}

/// Why a lane is not there.
fn missing(run: &Run, lanes: &[UseLane]) -> Vec<String> {
    let is_there = |unit| lanes.iter().any(|lane| lane.unit == unit);
    let mut missing: Vec<String> =
        run.timeline.utilisation.iter().flat_map(|utilisation| utilisation.unavailable.clone()).collect();
    if !lanes.iter().any(|lane| lane.name == "GPU") {
        let lane = run.lane("gpu").filter(|lane| lane.peak_bytes.is_none());
        missing
            .extend(lane.map(|lane| format!("GPU: unavailable: {}", lane.source.trim_start_matches("unavailable: "))));
    }
    if !is_there(LaneUnit::Watts) {
        let why = no_power(&run.timeline).map_or("unavailable: no sensor could be read", |why| why);
        missing.push(format!("power: {why}"));
    }
    missing
}

/// Equal spans of time from the beginning to the end of the session.
struct Spans {
    span_ns: u64,
    /// The span of each sample.
    of_sample: Vec<usize>,
    count: usize,
}

impl Spans {
    fn new(timeline: &Timeline) -> Spans {
        let times = &timeline.series.time_ns;
        let end = timeline.duration_ns.max(times.last().copied().unwrap_or(0));
        let count = (end / SHORTEST_SPAN_NS).clamp(1, MOST_SPANS);
        let span_ns = end.div_ceil(count).max(1);
        let span = |ns: &u64| usize::try_from((ns / span_ns).min(count - 1)).unwrap_or(0);
        Spans { span_ns, of_sample: times.iter().map(span).collect(), count: usize::try_from(count).unwrap_or(1) }
    }

    /// One value of the readings in each span. A span without a sample has that of the span before.
    fn fold(&self, name: &str, readings: &[Option<u64>], of_span: impl Fn(&[u64]) -> f64) -> LaneLine {
        let mut by_span: Vec<Vec<u64>> = vec![Vec::new(); self.count];
        for (span, reading) in self.of_sample.iter().zip(readings) {
            by_span[*span].extend(*reading);
        }
        let mut last = None;
        let values = by_span.iter().map(|readings| {
            if !readings.is_empty() {
                last = Some(of_span(readings));
            }
            last
        });
        LaneLine::new(name, values.collect())
    }

    /// The mean of the readings, each times `part`.
    fn gauge(&self, name: &str, readings: &[Option<u64>], part: f64) -> LaneLine {
        let mean = |values: &[u64]| values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
        self.fold(name, readings, |values| mean(values) * part)
    }

    /// The largest reading.
    fn highest(&self, name: &str, readings: &[Option<u64>]) -> LaneLine {
        self.fold(name, readings, |values| values.iter().copied().max().unwrap_or(0) as f64)
    }

    /// The events a second of a counter that only grows. Where it jumps back, nothing is known of that span.
    fn counter(&self, name: &str, readings: &[Option<u64>]) -> LaneLine {
        let counted = self.highest(name, readings);
        let mut before = 0.0;
        let values = counted.values.iter().map(|count| {
            let more = (*count)? - before;
            before = (*count)?;
            (more >= 0.0).then_some(more / (self.span_ns as f64 / 1e9))
        });
        LaneLine::new(name, values.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    /// A run of half a second with a sample every 50 ms: two readings in each of the spans.
    fn run(probes: &[(&str, [u64; 10])]) -> Run {
        let mut timeline = tiny();
        timeline.duration_ns = 500_000_000;
        timeline.series.time_ns = (0..10).map(|index| index * 50_000_000).collect();
        timeline.series.high_bytes = (1..=10).collect();
        let column = |readings: &[u64; 10]| readings.iter().copied().map(Some).collect();
        timeline.series.probes = probes.iter().map(|(name, readings)| ((*name).to_owned(), column(readings))).collect();
        Run::new("x", timeline)
    }

    #[test]
    fn a_gauge_is_averaged_and_a_counter_becomes_a_rate() {
        let counter = [0, 0, 10, 10, 10, 30, 30, 30, 5, 5];
        let lanes = use_lanes(&run(&[
            ("cpu_process_permille", [1000, 2000, 500, 500, 0, 0, 0, 0, 1000, 1000]),
            ("minor_faults", counter),
            ("power_gpu-0_mw", [5_000; 10]),
        ]))
        .expect("lanes");
        assert_eq!(lanes.span_ns, 100_000_000);
        let [live, cpu, faults, power] = &lanes.lanes[..] else { panic!("{lanes:?}") };
        assert_eq!(live.lines[0].values, [2.0, 4.0, 6.0, 8.0, 10.0].map(Some));
        assert_eq!(cpu.lines[0].values, [1.5, 0.5, 0.0, 0.0, 1.0].map(Some));
        // 10 in the second span and 20 in the third, of a tenth of a second; at last it jumps back.
        assert_eq!(faults.lines[0].values, [Some(0.0), Some(100.0), Some(200.0), Some(0.0), None]);
        assert_eq!((power.lines[0].name.as_str(), power.lines[0].mean, power.unit), ("gpu-0", 5.0, LaneUnit::Watts));
        assert_eq!(lanes.unavailable, ["GPU: unavailable: no NVIDIA driver on this machine"]);
        let json = serde_json::to_value(&lanes).expect("JSON");
        assert_eq!(
            (&json["lanes"][1]["unit"], &json["lanes"][1]["lines"][0]["values"][0]),
            (&"cores".into(), &1.5.into())
        );
    }

    #[test]
    fn cores_stand_in_the_order_of_their_numbers() {
        let busy = ["cpu_core_10_permille", "cpu_core_2_permille", "cpu_core_0_permille"].map(|name| (name, [300; 10]));
        let lanes = use_lanes(&run(&busy)).expect("lanes");
        let names: Vec<&str> = lanes.lanes[1].lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!((names, lanes.lanes[1].lines[0].most()), (vec!["core 0", "core 2", "core 10"], 30.0));
        assert!(lanes.unavailable.iter().any(|reason| reason.starts_with("power: unavailable")), "{lanes:?}");
    }

    #[test]
    fn an_older_run_has_no_lanes() {
        assert_eq!(use_lanes(&run(&[("rss", [1; 10])])), None);
    }
}
