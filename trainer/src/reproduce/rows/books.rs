//! Rows 10, 12 and 13: samples joined with operators, the use of processors, energy.
use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::{claim, line, lines, percent, table, titles};
use crate::chart::{self, COLOURS, Part, Scale};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const SAMPLING: Row = Row {
    number: 10,
    title: "Samples every 10 ms, joined with the operators that ran",
    seed: "001, Section 3",
    published: "The tool records when each operation begins and ends, samples the hardware every 10 ms, and joins the two by time.",
    work: Some(Work { measurements: of_sampling, finding: sampling }),
};

pub(super) const UTILISATION: Row = Row {
    number: 12,
    title: "How busy the processors are",
    seed: "001, Observations 1 to 5, Figures 3 to 5",
    published: "Each core of a TX2's CPU is busy 0 to 60 % of the time, its GPU 71 to 96 %. The pattern repeats with each step. From batch 4 \
                to 64 the CPU's use changes by 2.1 % on average.",
    work: Some(Work { measurements: of_utilisation, finding: utilisation }),
};

pub(super) const ENERGY: Row = Row {
    number: 13,
    title: "Energy of a step against the batch",
    seed: "001, Observations 6 to 8, Figures 6 and 7",
    published: "A batch 16 times as large takes 2.2 to 10.5 times the energy.",
    work: Some(Work { measurements: of_energy, finding: energy }),
};

/// The share of time that a join of samples may give to the wrong name.
const MISPLACED: f64 = 0.05;
/// Steps are alike when the middle half of them lies within so much of the median.
const ALIKE: f64 = 0.1;
/// The document's change of a CPU's use with the batch.
const CHANGE: f64 = 0.021;
fn inception(depth: Depth, batch: u64, steps: u64) -> String {
    let size = if depth == Depth::Quick { 64 } else { 224 };
    format!("train --model inception_v1 --batch {batch} --image-size {size} --steps {steps}")
}

fn batches(depth: Depth) -> [u64; 2] {
    if depth == Depth::Quick { [4, 16] } else { [4, 64] }
}

fn of_sampling(depth: Depth) -> Vec<Measurement> {
    vec![Measurement::viewed("inception_v1", &inception(depth, 4, 20), &["power"], &["sampling"])]
}

fn of_utilisation(depth: Depth) -> Vec<Measurement> {
    let keep = &["utilisation", "figures", "steps"];
    let of = |batch: u64| {
        Measurement::viewed(format!("batch-{batch}"), &inception(depth, batch, 12), &["power", "steps"], keep)
    };
    batches(depth).into_iter().map(of).collect()
}

fn of_energy(depth: Depth) -> Vec<Measurement> {
    let of = |batch: u64| {
        Measurement::viewed(format!("batch-{batch}"), &inception(depth, batch, 12), &["power"], &["energy", "by_phase"])
    };
    batches(depth).into_iter().map(of).collect()
}

fn sampling(results: &Results) -> Result<Finding> {
    let all = list(results.of("inception_v1")?, "/sampling")?;
    let (mut claims, mut rows, mut names, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for one in all {
        let dimension = text(one, "/dimension")?;
        let misplaced = number(one, "/misplaced")?;
        claims.push(claim(
            format!("the join gives time to the right {dimension}"),
            "assumed",
            format!("{} of the time goes to a wrong one", percent(misplaced)),
            Holds::if_so(
                misplaced < MISPLACED,
                format!(
                    "most {dimension}s are shorter than 10 ms: {} of {} were met by no sample",
                    number(one, "/never_hit")?,
                    number(one, "/names")?
                ),
            ),
        ));
        let shares = ["/misplaced", "/median", "/worst"].into_iter().map(|of| Ok(percent(number(one, of)?)));
        let counts = ["/names", "/never_hit"].into_iter().map(|of| Ok(format!("{:.0}", number(one, of)?)));
        let cells = [vec![dimension.to_owned()], counts.chain(shares).collect::<Result<Vec<_>>>()?].concat();
        rows.push([cells, vec![text(one, "/worst_name")?.to_owned()]].concat());
        names.push(dimension.to_owned());
        values.push(100.0 * misplaced);
    }
    let title = "Time that samples of 10 ms give to a wrong name";
    let worst = values.iter().copied().fold(0.0, f64::max) / 100.0;
    let part = Part { name: "misplaced".to_owned(), colour: COLOURS[6], values };
    let svg = chart::rows(&titles(title, "% of the time", ""), &names, &[part], &[])?;
    Ok(Finding {
        claims,
        number: format!("samples misplace up to {} of the time", percent(worst)),
        figures: vec![Figure { name: "misplaced".to_owned(), title: title.to_owned(), svg }],
        tables: vec![table(
            "Samples beside the exact times",
            &["by", ">names", ">met by no sample", ">misplaced", ">median error", ">worst error", "of"],
            rows,
        )],
        notes: vec![
            "The exact times are those of callbacks at each operator's beginning and end, on the same clock."
                .to_owned(),
        ],
    })
}

/// How busy each core was, as parts of 1.
fn cores(value: &Value) -> Result<Vec<f64>> {
    list(value, "/utilisation/cores")?.iter().map(|core| Ok(number(core, "/busy_permille")? / 1000.0)).collect()
}

fn utilisation(results: &Results) -> Result<Finding> {
    let all = results.beginning("batch-");
    let mut by_batch = Vec::new();
    let mut rows = Vec::new();
    let mut spreads = Vec::new();
    for (name, value) in &all {
        let cores = cores(value)?;
        let steps = list(value, "/steps")?.iter().skip(3).map(|step| number(step, "/wall_ns"));
        let steps =
            trainer_statistics::Summary::of(&steps.collect::<Result<Vec<f64>>>()?).context("there are steps")?;
        let spread = (steps.q3 - steps.q1) / steps.median;
        spreads.push(spread);
        for (core, busy) in cores.iter().enumerate() {
            rows.push(vec![name.replace('-', " "), core.to_string(), percent(*busy)]);
        }
        by_batch.push(cores);
    }
    let (small, large) = by_batch.first().zip(by_batch.last()).context("two batches were run")?;
    let mean = |cores: &[f64]| cores.iter().sum::<f64>() / cores.len() as f64;
    let change = mean(large) - mean(small);
    let most = by_batch.iter().flatten().copied().fold(0.0, f64::max);
    let least = by_batch.iter().flatten().copied().fold(1.0, f64::min);
    let spread = spreads.iter().copied().fold(0.0, f64::max);
    let claims = vec![
        claim(
            "each core of the CPU",
            "busy 0 to 60 %",
            format!("{} to {}", percent(least), percent(most)),
            Holds::if_so(most <= 0.6, "without a GPU the cores compute the network themselves"),
        ),
        claim(
            "the pattern repeats with each step",
            "it does",
            format!("the middle half of the steps lies within {} of the median", percent(spread)),
            Holds::if_so(spread < ALIKE, "other programs on this machine make steps differ"),
        ),
        claim(
            "the CPU's use from a small to a large batch",
            format!("changes by {} on average", percent(CHANGE)),
            format!("changes by {}", percent(change.abs())),
            Holds::if_so(change.abs() <= 2.0 * CHANGE, "a small batch has parts that one core alone computes"),
        ),
        claim("the GPU", "busy 71 to 96 %", "-", Holds::Unknown("no GPU was used in these runs".to_owned())),
    ];
    let steps: Vec<String> = all.iter().map(|(name, _)| name.replace('-', " ")).collect();
    let of_core = |core: usize| {
        let values: Vec<Option<f64>> = by_batch.iter().map(|cores| cores.get(core).map(|busy| 100.0 * busy)).collect();
        line(format!("core {core}"), &values)
    };
    let drawn: Vec<_> = (0..small.len()).map(of_core).collect();
    let titles = titles("Inception V1: how busy each core is", "batch", "% of the time");
    Ok(Finding {
        claims,
        number: format!("cores are busy {} to {}", percent(least), percent(most)),
        figures: vec![lines("cores", &titles, Scale::Linear, &steps, &drawn)?],
        tables: vec![table("By core", &["run", ">core", ">busy"], rows)],
        notes: vec!["A core is busy with all programs of the machine; the first steps and libtorch's start are part of the run. Steps are taken as alike \
             when their middle half lies within 10 % of the median, the CPU's use as unchanged up to twice the document's 2.1 %."
                .to_owned()],
    })
}

fn energy(results: &Results) -> Result<Finding> {
    let all = results.beginning("batch-");
    let mut joules = Vec::new();
    let mut rows = Vec::new();
    for (name, value) in &all {
        if list(value, "/energy/meters")?.is_empty() {
            continue;
        }
        // Phases sum to the run.
        let mut sum = 0.0;
        for phase in list(value, "/by_phase")? {
            sum += list(phase, "/by_meter_uj")?.first().and_then(Value::as_f64).unwrap_or(0.0);
        }
        let batch: u64 = name.trim_start_matches("batch-").parse().context("a batch is a number")?;
        joules.push((batch, sum / 1e6));
        rows.push(vec![batch.to_string(), format!("{:.3} J", sum / 1e6)]);
    }
    let what = "energy of a batch some times as large";
    let (held, number) = match (joules.first(), joules.last()) {
        (Some(first), Some(last)) if joules.len() > 1 => {
            let (batch, energy) = (last.0 as f64 / first.0 as f64, last.1 / first.1);
            let measured = format!("{energy:.1} times for {batch:.0} times the batch");
            let holds = Holds::if_so(energy < batch, "the energy grows as fast as the batch");
            (claim(what, "2.2 to 10.5 times for 16 times", measured.clone(), holds), measured)
        }
        _ => {
            let (_, value) = all.first().context("a batch was run")?;
            let sensors = list(value, "/energy/unavailable")?.iter().filter_map(Value::as_str);
            let kinds: Vec<&str> = sensors.filter_map(|reason| reason.split(':').next()).collect();
            let because =
                format!("this machine has no power sensor that can be read (looked for: {})", kinds.join(", "));
            (claim(what, "2.2 to 10.5 times for 16 times", "-", Holds::Unknown(because)), "no sensor".to_owned())
        }
    };
    Ok(Finding {
        claims: vec![held],
        number,
        figures: Vec::new(),
        tables: if rows.is_empty() { Vec::new() } else { vec![table("Energy of a run", &[">batch", ">energy"], rows)] },
        notes: vec![
            "On a machine with RAPL (most of Intel's and AMD's processors outside of virtual machines), a battery or an INA3221 the same \
             command gives the numbers."
                .to_owned(),
        ],
    })
}
