//! `viewer check FILE --baseline BASE [--max-growth BYTES|PERCENT] [--force] [--json]`.
use anyhow::{Result, bail};
use serde_json::json;

use crate::check::{GateResult, Limit, NameChange, gate, work_mismatches};
use crate::cli::args::CheckArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load_all;
use crate::model::{exact, exact_change};

pub(super) fn run(args: &CheckArgs) -> Result<Outcome> {
    let runs = load_all(&[args.file.clone(), args.baseline.clone()])?;
    let (checked, baseline) = (&runs[0], &runs[1]);
    let mismatches = work_mismatches(checked, baseline);
    if !mismatches.is_empty() && !args.force {
        let list: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
        bail!(
            "{} and {} did not do the same work: {}; give a baseline of the same work, or --force to compare all the same",
            args.file.display(),
            args.baseline.display(),
            list.join("; ")
        );
    }
    let result = gate(checked, baseline, &args.max_growth);
    if result.compared == 0 {
        bail!(
            "{} and {}: neither has tensors at its peak, so nothing was compared; --max-growth compares all that is live at the peak",
            args.file.display(),
            args.baseline.display()
        );
    }
    let passed = result.failures.is_empty();
    let text = if args.json {
        let forced: Vec<&str> = mismatches.iter().map(|mismatch| mismatch.key).collect();
        output::json(&json!({
            "passed": passed,
            "file": args.file.display().to_string(),
            "baseline": args.baseline.display().to_string(),
            "limit": limit_words(&args.max_growth),
            "compared": result.compared,
            "failures": result.failures,
            "within": result.within,
            "shrunk": result.shrunk,
            "forced_over": forced,
        }))?
    } else {
        text(&result, args)
    };
    Ok(if passed { Outcome::Fine(text) } else { Outcome::Failed(text) })
}

/// The limits in words.
fn limit_words(limits: &[Limit]) -> String {
    match limits {
        [] => "no growth in tensors".to_owned(),
        _ => format!("growth up to {}", limits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")),
    }
}

/// One line, and another line for each name that grew too much.
fn text(result: &GateResult, args: &CheckArgs) -> String {
    let what =
        format!("{} against {}, {}", args.file.display(), args.baseline.display(), limit_words(&args.max_growth));
    let shrunk = match result.shrunk.as_slice() {
        [] => String::new(),
        [first, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            format!("; shrank: {} {} ({} bytes){more}", first.dimension, first.name, exact_change(first.difference()))
        }
    };
    let within = match result.within.len() {
        0 => String::new(),
        count => format!("; {count} grew within the limit"),
    };
    if result.failures.is_empty() {
        return format!("ok: {what}: {} phases, layers and categories compared{within}{shrunk}\n", result.compared);
    }
    let mut out = format!("FAILED: {what}: {} of {} grew too much{shrunk}\n", result.failures.len(), result.compared);
    for failure in &result.failures {
        let NameChange { dimension, name, before_bytes, after_bytes, allowed_bytes } = failure;
        out.push_str(&format!(
            "  {dimension} {name}: {} -> {} bytes, {} (allowed {})\n",
            exact(*before_bytes),
            exact(*after_bytes),
            exact_change(failure.difference()),
            exact_change(i128::from(*allowed_bytes)),
        ));
    }
    out
}
