//! Row 2: the peak of a GPU's memory, and the heap beside it.
use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::{MIB, THREADS, claim, mib, table, titles};
use crate::chart::{self, COLOURS, Part};
use crate::reproduce::results::{Depth, Outcome, Results, list, number};
use crate::reproduce::spec::{Claim, FOLDER, Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 2,
    title: "Peak memory of a GPU, and the heap beside it",
    seed: "000, Figure 6",
    published: "With a GPU the heap peaks at 1.8 GB for both networks. In all, MobileNetV1 needs 4.4 GB on a CPU and 4.0 GB with a \
                GPU, ResNet-18 3.0 and 3.3 GB. The GPU's memory stays within 100 MB.",
    work: Work { measurements, finding },
};

const MODELS: [&str; 2] = ["mobilenet_v1", "resnet18"];
/// What the document says of each network with a GPU less its total on a CPU, in GB. Both totals are rounded to a tenth.
const CHANGES: [f64; 2] = [-0.4, 0.3];
const ROUNDING: f64 = 0.1;

/// A training run of `model`, but for its device and its timeline.
fn run_of(model: &str, depth: Depth) -> String {
    let work = if depth == Depth::Quick { "--batch 8 --steps 2" } else { "--batch 32 --steps 5" };
    format!("trainer train --model {model} {work} --image-size 224 {THREADS}")
}

/// Where the runs with a GPU go.
const ON_GPU: &str = "--device cuda:0";

fn measurements(depth: Depth) -> Vec<Measurement> {
    let timeline = format!("{FOLDER}/run.timeline.json");
    let of = |name: String, device: &str, model: &str| Measurement {
        name,
        commands: vec![
            format!("{}{device} --out {timeline}", run_of(model, depth)),
            format!("viewer summary {timeline} --json"),
        ],
        keep: &["peak/live_bytes", "peak/by_category", "device_predictions", "devices", "lanes"],
    };
    let cpu = MODELS.map(|model| of(format!("cpu-{model}"), "", model));
    let gpu = MODELS.map(|model| of(format!("gpu-{model}"), &format!(" {ON_GPU}"), model));
    cpu.into_iter().chain(gpu).collect()
}

/// What PyTorch's caching allocator would reserve with its usual settings, predicted from the run on a CPU.
fn predicted(run: &Value) -> Result<f64> {
    let all = list(run, "/device_predictions")?;
    number(all.first().context("the run predicts nothing of a device")?, "/reserved_bytes")
}

/// What a run on a GPU had there: the most that the driver counts of the process, as read often, or at the book; or what the allocator reserved where it does
/// not tell.
fn on_gpu(run: &Value) -> Result<f64> {
    let lanes = run["lanes"].as_array().map_or(&[][..], Vec::as_slice);
    let most = lanes.iter().find(|lane| lane["name"] == "gpu").and_then(|lane| lane["peak_bytes"].as_f64());
    if let Some(most) = most.filter(|&bytes| bytes > 0.0) {
        return Ok(most);
    }
    let device = list(run, "/devices")?.first().context("the run used no device")?;
    let line = list(device, "/book")?.iter().find(|line| line["name"] == "NVML process");
    match line.and_then(|line| line["bytes"].as_f64()) {
        Some(bytes) => Ok(bytes),
        None => number(device, "/reserved_bytes"),
    }
}

/// Why a network did not run on a GPU, in a line.
fn refused(results: &Results, model: &str) -> Result<Option<String>> {
    let measured = results.measured(&format!("gpu-{model}"))?;
    Ok(match &measured.outcome {
        Outcome::Done(_) => None,
        Outcome::Failed(reason) => {
            let said = reason.rsplit("error: ").next().unwrap_or(reason);
            // Behind this stand the folders of this machine.
            Some(said.split(" (").next().unwrap_or(said).to_owned())
        }
    })
}

fn finding(results: &Results) -> Result<Finding> {
    let (mut claims, mut rows) = (Vec::new(), Vec::new());
    let (mut heaps, mut totals) = (Vec::new(), Vec::new());
    let (mut names, mut live, mut reserved) = (Vec::new(), Vec::new(), Vec::new());
    let mut because = None;
    let would = |reason: &str| {
        let run = run_of(MODELS[0], results.conditions.depth);
        format!(
            "{reason}; with an NVIDIA GPU and libtorch for CUDA it is `{run} {ON_GPU}`, and the same for {}",
            MODELS[1]
        )
    };
    for (model, change) in MODELS.into_iter().zip(CHANGES) {
        let cpu = results.of(&format!("cpu-{model}"))?;
        let (heap, prediction) = (number(cpu, "/peak/live_bytes")?, predicted(cpu)?);
        let refused = refused(results, model)?;
        let what = format!("{model}: all memory with a GPU less that on a CPU");
        let published = format!("{change:+} GB");
        let (mut measured, mut there) = ("-".to_owned(), "-".to_owned());
        match &refused {
            Some(reason) => {
                claims.push(claim(what, published, "-", Holds::Unknown(would(reason))));
                because.get_or_insert_with(|| would(reason));
            }
            None => {
                let gpu = results.of(&format!("gpu-{model}"))?;
                let (heap_beside, bytes) = (number(gpu, "/peak/live_bytes")?, on_gpu(gpu)?);
                let differs = (heap_beside + bytes - heap) / 1e9;
                let near = (differs - change).abs() <= ROUNDING;
                let reason = format!("{model}'s total changes by {differs:+.1} GB here");
                claims.push(claim(what, published, format!("{differs:+.1} GB"), Holds::if_so(near, reason)));
                (measured, there) = (mib(heap_beside), mib(bytes));
                heaps.push(heap_beside);
                totals.push(bytes);
            }
        }
        rows.push(vec![model.to_owned(), mib(heap), measured, there, mib(prediction)]);
        names.push(model.to_owned());
        live.push(heap / MIB);
        reserved.push(prediction / MIB);
    }
    claims.extend(both(&heaps, &totals, because.as_deref()));
    let title = "A training step: live bytes on a CPU, and what a GPU would reserve";
    let rows_of = |name: &str| names.iter().map(|model| format!("{model}, {name}")).collect::<Vec<_>>();
    let zeroes = vec![0.0; names.len()];
    let parts = [
        Part { name: "measured".to_owned(), colour: COLOURS[1], values: [live, zeroes.clone()].concat() },
        Part { name: "predicted".to_owned(), colour: COLOURS[5], values: [zeroes, reserved].concat() },
    ];
    let svg = chart::rows(&titles(title, "MiB", ""), &[rows_of("CPU"), rows_of("GPU")].concat(), &parts, &[])?;
    Ok(Finding {
        number: match totals[..] {
            [mobile, residual] => format!("on the GPU: {} (MobileNetV1), {} (ResNet-18)", mib(mobile), mib(residual)),
            _ => "no GPU here".to_owned(),
        },
        claims,
        figures: vec![Figure { name: "memory".to_owned(), title: title.to_owned(), svg }],
        tables: vec![table(
            "Peaks",
            &["model", ">live bytes on a CPU", ">heap beside a GPU", ">GPU", ">a GPU would reserve, predicted"],
            rows,
        )],
        notes: vec![
            "The prediction is what the rules of PyTorch's caching allocator reserve for the tensors of the run on a CPU, without the \
             device's context and libraries ([GPU](../GPU.md)). It is no measurement, and no claim is judged by it."
                .to_owned(),
        ],
    })
}

/// What is said of both networks together.
fn both(heaps: &[f64], totals: &[f64], because: Option<&str>) -> Vec<Claim> {
    let ([one, other], [mobile, residual]) = (heaps, totals) else {
        let open = || Holds::Unknown(because.unwrap_or("a run is missing").to_owned());
        return vec![
            claim("the heap beside the GPU is the same for both networks", "1.8 GB", "-", open()),
            claim("MobileNetV1 needs more of the GPU than ResNet-18", "it does", "-", open()),
        ];
    };
    let tenth = |bytes: f64| (bytes / 1e8).round();
    vec![
        claim(
            "the heap beside the GPU is the same for both networks",
            "1.8 GB",
            format!("{} and {}", mib(*one), mib(*other)),
            Holds::if_so(tenth(*one) == tenth(*other), "the heaps differ by a tenth of a GB or more"),
        ),
        claim(
            "MobileNetV1 needs more of the GPU than ResNet-18",
            "it does",
            format!("{} against {}", mib(*mobile), mib(*residual)),
            Holds::if_so(mobile > residual, "ResNet-18 needs more at this batch"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::example;
    use crate::reproduce::spec::Verdict;
    use serde_json::json;

    const GB: u64 = 1_000_000_000;

    fn cpu(bytes: u64) -> Outcome {
        Outcome::Done(
            json!({ "peak": { "live_bytes": bytes }, "device_predictions": [{ "reserved_bytes": bytes / 2 }] }),
        )
    }

    #[test]
    fn without_a_gpu_it_says_why_and_which_command_would() {
        let no = || Outcome::Failed("exit status: 2; error: --device cuda:0: no GPU (some/where has none)".to_owned());
        let all = vec![
            ("cpu-mobilenet_v1", cpu(4 * GB)),
            ("cpu-resnet18", cpu(3 * GB)),
            ("gpu-mobilenet_v1", no()),
            ("gpu-resnet18", no()),
        ];
        let found = finding(&example(2, all)).expect("a finding");
        let verdict = Verdict::of(&found.claims);
        assert_eq!(verdict.word(), "cannot be run here because");
        let because = "--device cuda:0: no GPU; with an NVIDIA GPU and libtorch for CUDA it is `trainer train --model \
                       mobilenet_v1 --batch 8 --steps 2 --image-size 224 --threads 1 --device cuda:0`, and the same for resnet18";
        assert_eq!(verdict.because(), because, "the reason is one for all");
        assert_eq!(found.tables[0].rows[0][2..4], ["-", "-"]);
    }

    /// 1.8 GB of heap and 2.2 GB on the GPU are 4.0 GB, 0.4 less than 4.4; 1.8 and 1.5 are 3.3, 0.3 more than 3.0.
    #[test]
    fn the_documents_own_numbers_are_reproduced() {
        let gpu = |mib_on_gpu: u64| {
            let book = json!([{ "name": "NVML process", "bytes": mib_on_gpu }]);
            let device = json!({ "device": "cuda:0", "book": book, "reserved_bytes": 5 });
            Outcome::Done(json!({ "peak": { "live_bytes": 1_800_000_000_u64 }, "devices": [device] }))
        };
        let all = vec![
            ("cpu-mobilenet_v1", cpu(4_400_000_000)),
            ("cpu-resnet18", cpu(3 * GB)),
            ("gpu-mobilenet_v1", gpu(2_200_000_000)),
            ("gpu-resnet18", gpu(1_500_000_000)),
        ];
        let results = example(2, all);
        let found = finding(&results).expect("a finding");
        assert_eq!(Verdict::of(&found.claims), Verdict::Reproduced, "{:?}", found.claims);
        assert_eq!(found.claims[0].measured, "-0.4 GB");
    }
}
