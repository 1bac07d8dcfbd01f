//! Row 11: which networks train in 8 GB.
use anyhow::{Context, Result};

use super::shared::{MIB, THREADS, claim, mib, table, titles};
use crate::chart::{self, COLOURS, Part};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 11,
    title: "Which networks train in 8 GB",
    seed: "001, Table II",
    published: "Ten networks train on a TX2 with 8 GB in batches of up to 64; VGG19, BERT, ResNet101, ResNet152, DenseNet100 and seq2seq \
                do not.",
    work: Work { measurements, finding },
};

/// What `--budgets 8G` means, in bytes.
const BUDGET: f64 = 8.0 * 1024.0 * MIB;

fn measurements(depth: Depth) -> Vec<Measurement> {
    // Without --base, three small runs of each network measure what a process needs besides its tensors.
    let base = if depth == Depth::Quick { "--base 300M" } else { THREADS };
    vec![Measurement::json("suite", format!("trainer fit-table --models all --budgets 8G {base} --json"))]
}

fn finding(results: &Results) -> Result<Finding> {
    let value = results.of("suite")?;
    let suite = list(value, "/suite")?;
    // A quick run assumes what a process needs besides its tensors. An answer that this number decides is not known.
    let assumed = match results.conditions.depth {
        Depth::Quick => number(value, "/base_bytes")?,
        Depth::Full => 0.0,
    };
    let (mut claims, mut names, mut needed, mut rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for entry in suite {
        let name = text(entry, "/name")?;
        let trained = entry["trained"].as_bool().context("the table says what trained")?;
        let says = |fits: bool| if fits { "trains" } else { "does not train" }.to_owned();
        let Some(plan) = entry.get("plan").filter(|plan| plan.is_object()) else {
            let unknown = Holds::Unknown(format!("{name} is not in this project"));
            claims.push(claim(name, says(trained), "-", unknown));
            continue;
        };
        let fits = plan["reason"].is_null();
        let bytes = number(plan, "/bytes")?;
        let largest = number(plan, "/largest_batch")?;
        let measured = format!(
            "{} at batch 64: {}; largest batch {largest}",
            if fits { "fits" } else { "does not fit" },
            mib(bytes)
        );
        let holds = if (bytes - BUDGET).abs() < assumed {
            Holds::Unknown(format!(
                "it is nearer to 8 GB than the {} that a quick run assumes for all besides tensors",
                mib(assumed)
            ))
        } else if fits {
            Holds::if_so(trained, format!("{name} fits at the size of its reference"))
        } else {
            Holds::if_so(!trained, format!("{name} needs more than 8 GB at batch 64 (largest batch {largest})"))
        };
        claims.push(claim(name, says(trained), measured, holds));
        names.push(name.to_owned());
        needed.push(bytes / MIB);
        let of_category = format!("{} ({})", text(plan, "/category")?, mib(number(plan, "/category_bytes")?));
        let numbers = [number(plan, "/size")?, largest].map(|number| format!("{number:.0}"));
        rows.push([vec![name.to_owned()], numbers.to_vec(), vec![mib(bytes), of_category]].concat());
    }
    let agree = claims.iter().filter(|claim| claim.holds == Holds::Yes).count();
    let open = claims.iter().filter(|claim| matches!(claim.holds, Holds::Unknown(_))).count();
    let title = "What batch 64 needs; 8 GB are 8192 MiB";
    let parts = [Part { name: "needed".to_owned(), colour: COLOURS[1], values: needed }];
    let svg = chart::rows(&titles(title, "MiB", ""), &names, &parts, &[])?;
    Ok(Finding {
        number: format!("{agree} of {} answers are the document's, {open} are not known", claims.len()),
        claims,
        figures: vec![Figure { name: "needed".to_owned(), title: title.to_owned(), svg }],
        tables: vec![table(
            "By network",
            &["network", ">size", ">largest batch in 8 GB", ">batch 64 needs", "most of it"],
            rows,
        )],
        notes: vec![
            "A network trains here when batch 64 fits; the document ran batches of 1 to 64 in TensorFlow 1.13 on a TX2, whose GPU shares the \
             memory with the system, and does not say at which batch the others failed. DenseNet100 has 7 M parameters there and 0.8 M here, \
             with bottlenecks; seq2seq has 348 M there."
                .to_owned(),
        ],
    })
}
