//! Simulates the allocations of a training run and writes the records that a recorder would write.
use std::collections::BTreeMap;

use alloc_timeline::{
    Allocator, Assembler, Book, BookLine, Category, Dimension, Door, Ending, FORMAT_VERSION, HighWater, Machine, Mark,
    OutsideFigure, Record, Row, Sample, Scope, Snapshot, Step, Timeline, Totals, TrackerCost,
};
use serde_json::json;

use super::nets::Layer;

const MS: u64 = 1_000_000;
const TICK: u64 = 10 * MS;

/// The live bytes of each owner, and the peaks so far.
struct Simulation {
    assembler: Assembler,
    scopes: Vec<Scope>,
    held: BTreeMap<(u32, Category), (u64, u64)>,
    live: u64,
    resident: u64,
    high: u64,
    now: u64,
    sampled: u64,
    peak: Snapshot,
    step: Option<Step>,
    high_waters: BTreeMap<(Dimension, String), HighWater>,
    totals: Totals,
    rss_peak: u64,
}

impl Simulation {
    fn scope(&mut self, phase: &str, layer: &str, op: &str) -> u32 {
        let scope = Scope { phase: phase.into(), layer: layer.into(), op: op.into() };
        if let Some(index) = self.scopes.iter().position(|known| *known == scope) {
            return index as u32;
        }
        self.scopes.push(scope.clone());
        self.assembler.apply(Record::Scope(scope));
        self.scopes.len() as u32 - 1
    }

    /// Allocates one block; usable bytes are rounded up to 64.
    fn take(&mut self, scope: u32, category: Category, requested: u64) {
        let usable = requested.div_ceil(64) * 64;
        let held = self.held.entry((scope, category)).or_default();
        held.0 += usable;
        held.1 += 1;
        self.live += usable;
        self.resident = self.resident.max(self.live);
        self.totals.allocations += 1;
        self.totals.allocated_bytes += usable;
        self.high = self.high.max(self.live);
        if self.live >= self.peak.live_bytes {
            self.peak = self.snapshot();
        }
        if let Some(step) = &mut self.step
            && self.live >= step.live_bytes
        {
            step.live_bytes = self.live;
            step.peak_ns = self.now;
            step.by_category.clear();
            for ((_, category), (bytes, _)) in self.held.iter().filter(|(_, held)| held.0 > 0) {
                *step.by_category.entry(category.name().to_owned()).or_default() += bytes;
            }
        }
        let owner = self.scopes[scope as usize].clone();
        for dimension in [Dimension::Phase, Dimension::Layer, Dimension::Op] {
            let name = dimension.of(&owner, category).to_owned();
            let own = |(key, held): (&(u32, Category), &(u64, u64))| {
                (dimension.of(&self.scopes[key.0 as usize], key.1) == name).then_some(held.0)
            };
            let live_bytes = self.held.iter().filter_map(own).sum();
            let high = HighWater {
                dimension,
                name: name.clone(),
                live_bytes,
                time_ns: self.now,
                process_live_bytes: self.live,
                requested_bytes: None,
            };
            let known = self.high_waters.entry((dimension, name)).or_insert_with(|| high.clone());
            if live_bytes >= known.live_bytes {
                *known = high;
            }
        }
    }

    /// Frees all that a scope holds of a category.
    fn release(&mut self, scope: u32, category: Category) {
        if let Some((bytes, blocks)) = self.held.remove(&(scope, category)) {
            self.live -= bytes;
            self.totals.frees += blocks;
        }
    }

    /// Lets time pass, and takes a sample at each tick.
    fn pass(&mut self, ns: u64) {
        self.now += ns;
        while self.sampled + TICK <= self.now {
            self.sampled += TICK;
            // Freed pages go back to the kernel only slowly.
            self.resident -= (self.resident - self.live) / 12;
            let rss = self.resident + (46 << 20);
            self.rss_peak = self.rss_peak.max(rss);
            let rows = self.held.iter().map(|((scope, category), (bytes, _))| (*scope, *category, *bytes)).collect();
            self.assembler.apply(Record::Sample(Sample {
                time_ns: self.sampled,
                live_bytes: self.live,
                requested_bytes: self.live - self.live / 200,
                high_bytes: self.high,
                rows,
                probes: vec![("rss".into(), Some(rss)), ("jemalloc_resident".into(), Some(rss - (40 << 20)))],
            }));
            self.high = self.live;
        }
    }

    fn snapshot(&self) -> Snapshot {
        let row = |((scope, category), (bytes, blocks)): (&(u32, Category), &(u64, u64))| Row {
            scope: *scope,
            category: *category,
            usable_bytes: *bytes,
            requested_bytes: bytes - bytes / 200,
            blocks: *blocks,
        };
        let rows: Vec<Row> = self.held.iter().filter(|(_, held)| held.0 > 0).map(row).collect();
        Snapshot {
            time_ns: self.now,
            live_bytes: self.live,
            requested_bytes: rows.iter().map(|row| row.requested_bytes).sum(),
            slack_bytes: 0,
            rows,
        }
    }

    fn mark(&mut self, name: &str, table: bool) {
        let snapshot = table.then(|| self.snapshot());
        let mark = Mark { time_ns: self.now, name: name.into(), live_bytes: self.live, snapshot };
        self.assembler.apply(Record::Mark(mark));
    }
}

/// The timeline of a run of `steps` training steps.
pub fn train(model: &str, layers: &[Layer], batch: u64, steps: u64) -> Timeline {
    use Category::{
        Activation, Buffer, Gradient, Input, Metadata, OptimizerState, Other, Parameter, Runtime, Workspace,
    };
    let mut assembler = Assembler::new();
    assembler.apply(Record::Start {
        format_version: FORMAT_VERSION,
        run: [
            ("model", json!(model)),
            ("mode", json!("train")),
            ("batch", json!(batch)),
            ("image_size", json!(224)),
            ("steps", json!(steps)),
            ("seed", json!(1)),
            ("command", json!(format!("trainer train --model {model} --batch {batch} --steps {steps}"))),
            ("pid", json!(4242)),
            ("started_unix_ns", json!(1_760_000_000_000_000_000u64)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into(),
        machine: Machine {
            os: "linux".into(),
            arch: "x86_64".into(),
            kernel: "6.1.0".into(),
            cpu: "Made-up CPU at 2.0 GHz".into(),
            cpus: 2,
            page_bytes: 4096,
            memory_bytes: 16 << 30,
        },
        allocator: Allocator {
            backend: "jemalloc".into(),
            version: "5.3.0".into(),
            config: [("dirty_decay_ms".to_owned(), "-1".to_owned())].into(),
            doors: vec![Door::Rust, Door::C],
        },
        interval_ns: TICK,
    });
    let mut sim = Simulation {
        assembler,
        scopes: Vec::new(),
        held: BTreeMap::new(),
        live: 0,
        resident: 0,
        high: 0,
        now: 0,
        sampled: 0,
        peak: Snapshot::default(),
        step: None,
        high_waters: BTreeMap::new(),
        totals: Totals::default(),
        rss_peak: 0,
    };
    let nobody = sim.scope("", "", "");
    sim.take(nobody, Runtime, 55_000_000);
    sim.take(nobody, Other, 300_000);
    sim.pass(40 * MS);
    for layer in layers {
        let scope = sim.scope("init", &layer.path, "aten::empty");
        if layer.parameter > 0 {
            sim.take(scope, Parameter, layer.parameter);
            if layer.op == "aten::batch_norm" {
                sim.take(scope, Buffer, layer.parameter);
            }
        }
        sim.pass(MS);
    }
    let loader = sim.scope("data", "", "");
    sim.take(loader, Other, 512 * 28 * 28);
    let mut started = sim.now;
    for index in 1..=steps {
        sim.step = Some(Step {
            index,
            start_ns: started,
            end_ns: 0,
            peak_ns: started,
            live_bytes: 0,
            by_category: BTreeMap::new(),
            end_live_bytes: 0,
            requested_bytes: None,
            end_requested_bytes: None,
            derived: false,
        });
        let input = sim.scope("data", "", "aten::upsample_bilinear2d");
        sim.take(input, Input, batch * 3 * 224 * 224 * 4);
        sim.pass(30 * MS);
        for layer in layers {
            let scope = sim.scope("forward", &layer.path, layer.op);
            sim.take(scope, Metadata, 1_800);
            if layer.op == "aten::conv2d" {
                sim.take(scope, Workspace, layer.saved * batch / 4);
            }
            if layer.saved > 0 {
                sim.take(scope, Activation, layer.saved * batch);
            }
            sim.pass(2 * MS + layer.saved * 2);
            sim.release(scope, Workspace);
        }
        sim.mark("forward_end", true);
        let loss = sim.scope("loss", "", "aten::nll_loss");
        sim.take(loss, Activation, batch * 4000);
        sim.pass(3 * MS);
        for layer in layers.iter().rev() {
            let backward = if layer.op == "aten::conv2d" { "ConvolutionBackward0" } else { "ReluBackward0" };
            let scope = sim.scope("backward", &layer.path, backward);
            sim.take(scope, Activation, layer.saved * batch);
            if layer.parameter > 0 {
                sim.take(scope, Gradient, layer.parameter);
            }
            sim.pass(4 * MS + layer.saved * 5);
            let forward = sim.scope("forward", &layer.path, layer.op);
            sim.release(forward, Activation);
            sim.release(forward, Metadata);
            sim.release(scope, Activation);
        }
        sim.release(loss, Activation);
        for layer in layers.iter().filter(|layer| layer.parameter > 0) {
            let scope = sim.scope("optimizer", &layer.path, "aten::_foreach_add_");
            if index == 1 {
                sim.take(scope, OptimizerState, layer.parameter);
            }
            sim.pass(MS);
        }
        for layer in layers {
            for backward in ["ConvolutionBackward0", "ReluBackward0"] {
                let scope = sim.scope("backward", &layer.path, backward);
                sim.release(scope, Gradient);
            }
        }
        sim.release(input, Input);
        let (now, live) = (sim.now, sim.live);
        let mut step = sim.step.take().expect("set above");
        (step.end_ns, step.end_live_bytes) = (now, live);
        sim.assembler.apply(Record::Step(step));
        sim.pass(2 * MS);
        started = sim.now;
    }
    finish(sim)
}

fn finish(sim: Simulation) -> Timeline {
    let (now, at_exit, peak) = (sim.now, sim.snapshot(), sim.peak.clone());
    let mut assembler = sim.assembler;
    let rss = peak.live_bytes + (46 << 20);
    let unexplained = 1_234_567;
    let lines = [
        ("tracked live", peak.live_bytes as i64),
        ("allocator's own", 21 << 20),
        ("tracker", 9 << 20),
        ("libraries", (18 << 20) - unexplained),
        ("stacks", 300_000),
        ("shared with others", -2_300_000),
        ("unexplained", (rss - peak.live_bytes) as i64 - ((48 << 20) - unexplained) + 2_000_000),
    ];
    let lane = |name: &str, bytes: Option<u64>, at_peak: Option<u64>, source: &str| OutsideFigure {
        name: name.into(),
        peak_bytes: bytes,
        at_peak_bytes: at_peak,
        source: source.into(),
    };
    for record in [
        Record::Book(Book {
            time_ns: peak.time_ns + 3 * MS,
            live_bytes: peak.live_bytes,
            rss_bytes: rss,
            lines: lines.map(|(name, bytes)| BookLine { name: name.into(), bytes, ..BookLine::default() }).into(),
            ..Book::default()
        }),
        Record::Peak(peak),
        Record::HighWaters(sim.high_waters.into_values().collect()),
        Record::Totals(sim.totals),
        Record::AtExit(at_exit),
        Record::OutsideFigures(vec![
            lane("rss", Some(sim.rss_peak), Some(rss), "/proc/self/statm"),
            lane("cgroup", Some(sim.rss_peak + (3 << 20)), Some(rss + (3 << 20)), "memory.current of cgroup v2"),
            lane("gpu", None, None, "no NVIDIA driver on this machine"),
        ]),
        Record::Tracker(TrackerCost {
            overhead_bytes: Some(9 << 20),
            dropped_events: Some(0),
            foreign_frees: Some(0),
            overflowed_scopes: Some(0),
            overhead: [("shadow map", 6u64 << 20), ("rings", 2 << 20), ("ledger", 1 << 20)]
                .map(|(name, bytes)| (name.to_owned(), bytes))
                .into(),
            ..TrackerCost::default()
        }),
        Record::End { time_ns: now, ending: Ending::Finished },
    ] {
        assembler.apply(record);
    }
    assembler.timeline()
}
