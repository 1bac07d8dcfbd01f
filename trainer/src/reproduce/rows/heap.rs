//! Row 1: the heap of two networks over time, in training and in inference.
use alloc_timeline::NONE;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::shared::{MIB, THREADS, claim, least_to_most, mib, percent, table, titles};
use crate::chart::{self, COLOURS, Colour, Part};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Claim, FOLDER, Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 1,
    title: "Heap over time, training and inference",
    seed: "000, Figures 2 to 5",
    published: "In massif's heap profiles of MobileNetV1 and ResNet-18 convolutions own most memory and batch norms come \
                second. MobileNetV1 needs more than ResNet-18, in training and in inference. On a CPU the curve has clear peaks and \
                troughs; on a GPU it never differs by more than 100 MB.",
    work: Work { measurements, finding },
};

/// In the order of the document's figures: 2 and 3, 4 and 5.
const MODELS: [&str; 2] = ["mobilenet_v1", "resnet18"];
const MODES: [&str; 2] = ["train", "infer"];
/// By how much a GPU's memory differs at most, in the document: what differs by more has peaks and troughs.
const STEADY: f64 = 100e6;
/// What the pictures tell apart, from the bottom to the top, and the colours.
const KINDS: [(&str, Colour); 4] = [
    ("no operator", COLOURS[1]),
    ("convolution", COLOURS[2]),
    ("batch norm", COLOURS[3]),
    ("other operators", COLOURS[5]),
];
/// The place of the last of them.
const OTHER: usize = 3;

fn measurements(depth: Depth) -> Vec<Measurement> {
    let work = if depth == Depth::Quick { "--batch 8 --steps 3" } else { "--batch 32 --steps 5" };
    let timeline = format!("{FOLDER}/run.timeline.json");
    let of = |(model, mode): (&str, &str)| Measurement {
        name: format!("{model}-{mode}"),
        commands: vec![
            format!("trainer {mode} --model {model} {work} --image-size 224 {THREADS} --out {timeline}"),
            format!("viewer series {timeline} --by op --top 16 --columns 60 --json"),
            format!("viewer summary {timeline} --json"),
        ],
        keep: &["time_ns", "bands", "steps", "peak/live_bytes", "peak/by_op", "peak/by_category"],
    };
    MODELS.iter().flat_map(|model| MODES.map(|mode| (*model, mode))).map(of).collect()
}

/// What an operator computes, forward and backward, as the pictures tell it apart.
fn kind(op: &str) -> usize {
    let plain: String = op.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    if op == NONE {
        0
    } else if plain.contains("conv") {
        1
    } else if plain.contains("batchnorm") {
        2
    } else {
        OTHER
    }
}

/// Bytes by kind.
fn by_kind<'a>(ops: impl Iterator<Item = (&'a str, f64)>) -> [f64; 4] {
    let mut sums = [0.0; 4];
    for (op, bytes) in ops {
        sums[kind(op)] += bytes;
    }
    sums
}

/// One run.
struct Run<'a> {
    model: &'a str,
    mode: &'a str,
    value: &'a Value,
    peak: f64,
    /// The bytes of the peak by kind.
    kinds: [f64; 4],
    /// Of the other operators the one with the most bytes.
    next: (&'a str, f64),
}

impl<'a> Run<'a> {
    fn of(results: &'a Results, model: &'a str, mode: &'a str) -> Result<Run<'a>> {
        let value = results.of(&format!("{model}-{mode}"))?;
        let ops = value.pointer("/peak/by_op").and_then(Value::as_object).context("the peak is split by operator")?;
        let bytes = || ops.iter().map(|(op, bytes)| (op.as_str(), bytes.as_f64().unwrap_or(0.0)));
        let others = bytes().filter(|(op, _)| kind(op) == OTHER);
        let next = others.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((NONE, 0.0));
        Ok(Run { model, mode, value, peak: number(value, "/peak/live_bytes")?, kinds: by_kind(bytes()), next })
    }

    fn name(&self) -> String {
        format!("{}, {}", self.model, self.mode)
    }

    /// Bytes of a category at the peak.
    fn category(&self, name: &str) -> f64 {
        number(self.value, &format!("/peak/by_category/{name}")).unwrap_or(0.0)
    }

    /// Of each step but the first its peak less what is live when it ends: both are exact, unlike the instants of a curve.
    fn swings(&self) -> Result<Vec<f64>> {
        let swing = |step: &Value| Ok(number(step, "/live_bytes")? - number(step, "/end_live_bytes")?);
        let swings = list(self.value, "/steps")?.iter().skip(1).map(swing).collect::<Result<Vec<f64>>>()?;
        ensure!(!swings.is_empty(), "{}: one step alone does not repeat", self.name());
        Ok(swings)
    }

    fn owners(&self) -> Claim {
        let ([_, convolution, norm, _], (next, bytes)) = (self.kinds, self.next);
        let measured = format!("convolutions {}, batch norms {}, {next} {}", mib(convolution), mib(norm), mib(bytes));
        let order = convolution > norm && norm > bytes;
        let because = if norm > convolution {
            format!("batch norms hold more than convolutions at the peak ({})", self.name())
        } else {
            format!("{next} holds more than batch norms at the peak ({})", self.name())
        };
        claim(
            format!("{}: who holds the peak", self.name()),
            "convolutions most, batch norms second",
            measured,
            Holds::if_so(order, because),
        )
    }

    fn figure(&self) -> Result<Figure> {
        let seconds: Vec<f64> =
            list(self.value, "/time_ns")?.iter().filter_map(Value::as_f64).map(|ns| ns / 1e9).collect();
        let mut parts =
            KINDS.map(|(name, colour)| Part { name: name.to_owned(), colour, values: vec![0.0; seconds.len()] });
        for band in list(self.value, "/bands")? {
            let part = &mut parts[kind(text(band, "/name")?)];
            for (sum, bytes) in part.values.iter_mut().zip(list(band, "/bytes")?) {
                *sum += bytes.as_f64().unwrap_or(0.0) / MIB;
            }
        }
        let title = format!("{}: live bytes over time", self.name());
        let svg = chart::areas(&titles(&title, "seconds since the start", "MiB"), &seconds, &parts)?;
        Ok(Figure { name: format!("{}-{}", self.model.replace('_', "-"), self.mode), title, svg })
    }

    fn row(&self) -> Vec<String> {
        let [none, convolution, norm, other] = self.kinds;
        let mut row = vec![self.model.to_owned(), self.mode.to_owned(), mib(self.peak)];
        row.extend(
            [none, convolution, norm, other].map(|bytes| format!("{} ({})", mib(bytes), percent(bytes / self.peak))),
        );
        row
    }
}

fn finding(results: &Results) -> Result<Finding> {
    let mut runs = Vec::new();
    for (model, mode) in MODELS.iter().flat_map(|model| MODES.map(|mode| (*model, mode))) {
        runs.push(Run::of(results, model, mode)?);
    }
    let mut claims: Vec<Claim> = runs.iter().map(Run::owners).collect();
    let mut ratios = Vec::new();
    for mode in MODES {
        let of = |model: &str| runs.iter().find(|run| run.model == model && run.mode == mode);
        let (mobile, residual) = of(MODELS[0]).zip(of(MODELS[1])).context("both networks ran")?;
        ratios.push(format!("{:.2} ({mode})", mobile.peak / residual.peak));
        let [residual_parameters, mobile_parameters] = [residual, mobile].map(|run| mib(run.category("parameter")));
        let because = if mode == "infer" {
            format!(
                "in inference a map goes when it was read, so parameters decide: ResNet-18 has {residual_parameters} of them and \
                 MobileNetV1 {mobile_parameters}"
            )
        } else {
            format!(
                "ResNet-18 has {residual_parameters} of parameters and MobileNetV1 {mobile_parameters}, and the batch is too small for maps \
                 to outweigh that"
            )
        };
        claims.push(claim(
            format!("MobileNetV1 needs more than ResNet-18 in {mode}"),
            "it does",
            format!("{} against {}", mib(mobile.peak), mib(residual.peak)),
            Holds::if_so(mobile.peak > residual.peak, because),
        ));
    }
    for run in runs.iter().filter(|run| run.mode == "train") {
        let swings = run.swings()?;
        let (least, _) = trainer_statistics::range(&swings);
        claims.push(claim(
            format!("{}: the curve has clear peaks and troughs", run.name()),
            "it has; taken here as more than the 100 MB of a GPU",
            format!(
                "{} from the peak of a step to its end",
                least_to_most(&swings, |bytes| format!("{:.1} MB", bytes / 1e6))
            ),
            Holds::if_so(least > STEADY, format!("the bytes differ by less in {}", run.name())),
        ));
    }
    Ok(Finding {
        claims,
        number: format!("MobileNetV1's peak in times of ResNet-18's: {}", ratios.join(", ")),
        figures: runs.iter().map(Run::figure).collect::<Result<_>>()?,
        tables: vec![table(
            "The peak by operator",
            &["model", "mode", ">peak live bytes", ">no operator", ">convolution", ">batch norm", ">other operators"],
            runs.iter().map(Run::row).collect(),
        )],
        notes: vec![
            "Live bytes are all usable bytes of the process, those of libtorch's start and of the images among them. Bytes belong to the \
             operator that allocated them, forward and backward together. What the program and its libraries allocate outside of operators \
             is `no operator`, most of it libtorch's start. The operators that draw parameters (`aten::mul`) and make the optimizer's \
             state (`aten::clone`) are among the others, as are those of the images. ReLUs write over the map that they read, which stays its \
             maker's. The pictures show the highest and the lowest instant of each sixtieth of the time, besides the exact peak."
                .to_owned(),
            "The document does not say with which batch it measured. Activations grow with the batch and parameters do not: below a \
             batch of about 5 ResNet-18 needs more in training."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::json;

    fn run(conv: u64, norm: u64) -> Value {
        let none = 50_000_000;
        json!({
            "time_ns": [0, 1_000_000_000_u64, 2_000_000_000_u64],
            "steps": [{}, { "live_bytes": none + conv + norm, "end_live_bytes": none }],
            "bands": [
                { "name": NONE, "bytes": [none, none, none] },
                { "name": "aten::conv2d", "bytes": [0, conv, 0] },
                { "name": "NativeBatchNormBackward0", "bytes": [0, norm, 0] },
            ],
            "peak": {
                "live_bytes": none + conv + norm, "by_op": { NONE: none, "aten::conv2d": conv, "aten::batch_norm": norm, "aten::mul": 5_000_000 },
                "by_category": { "parameter": 40_000_000 },
            },
        })
    }

    #[test]
    fn owners_order_and_swings() {
        let mega = 1_000_000;
        let all = [
            ("mobilenet_v1-train", run(120 * mega, 100 * mega)),
            ("mobilenet_v1-infer", run(20 * mega, 10 * mega)),
            ("resnet18-train", run(50 * mega, 40 * mega)),
            ("resnet18-infer", run(30 * mega, 40 * mega)),
        ];
        let results = example(1, all.map(|(name, run)| (name, Outcome::Done(run))).into());
        let found = finding(&results).expect("a finding");
        let holds: Vec<bool> = found.claims.iter().map(|claim| claim.holds == Holds::Yes).collect();
        // Owners of four runs, more in training and not in inference, 220 and 90 MB between peak and trough.
        assert_eq!(holds, [true, true, true, false, true, false, true, false], "{:?}", found.claims);
        let Holds::No(because) = &found.claims[5].holds else { panic!("80 MB are less than 120 MB") };
        assert!(because.contains("ResNet-18 has 38.1 MiB"), "40 million bytes are 38.1 MiB: {because}");
        assert_eq!(found.figures.len(), 4);
    }

    #[test]
    fn operators_are_told_apart() {
        let kinds =
            [NONE, "aten::conv2d", "ConvolutionBackward0", "aten::batch_norm", "NativeBatchNormBackward0", "aten::cat"];
        assert_eq!(kinds.map(kind), [0, 1, 1, 2, 2, 3]);
    }
}
