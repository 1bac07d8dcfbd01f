//! `viewer steps`: what each step consists of, by phase.
use alloc_timeline::Dimension;

use crate::analysis::{StepPart, StepParts};
use crate::model::{Run, share};
use crate::view::text::table::{short_name, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::names::name_in;
use crate::view::words::self_time::basis_words;

/// The phases over all steps that count, and the first and the last `most` steps one by one.
pub fn steps_text(run: &Run, parts: &StepParts, most: usize, terminal: Terminal) -> String {
    let width = terminal.width;
    let mut out = format!("{}\n", run.title());
    let meaning = format!(
        "Time in milliseconds {}, on the thread that does the steps. The parts sum to the step, to the nanosecond; medians do not.",
        basis_words(&parts.basis)
    );
    out.push_str(&wrapped(&meaning, "", "", width));
    if parts.steps.iter().any(|step| step.first_step < step.last_step) {
        let joined = "There are so many steps that neighbours were joined: each of those counts with their mean.";
        out.push_str(&wrapped(joined, "", "", width));
    }
    let phase = |name: &str| short_name(&name_in(Dimension::Phase, name));
    let ms = |ns: f64| format!("{:.2}", ns / 1e6);
    let whole = parts.figures.last().map_or(0, |step| step.sum_ns);
    let mut by_phase = table(&["phase", ">mean", ">share", ">median", ">least", ">most"]);
    for figures in &parts.figures {
        let spread = [figures.median_ns, figures.min_ns, figures.max_ns].map(|ns| ms(ns as f64));
        let mean = [ms(parts.basis.a_step(figures.sum_ns)), share(figures.sum_ns, whole)];
        by_phase.add_row([phase(&figures.name)].into_iter().chain(mean).chain(spread));
    }
    out.push_str(&format!("\nParts of a step\n{}", by_phase.text(width)));

    let names = parts.phases.iter().map(|name| format!(">{}", phase(name)));
    let heads: Vec<String> = ["step", ">took"].map(str::to_owned).into_iter().chain(names).collect();
    let mut one_by_one = table(&heads);
    let hidden = parts.steps.len().saturating_sub(2 * most);
    for (index, step) in parts.steps.iter().enumerate() {
        if hidden > 0 && index == most {
            let blank = vec![String::new(); heads.len() - 1];
            one_by_one.add_row([format!("({hidden} more)")].into_iter().chain(blank));
        }
        if hidden == 0 || index < most || index >= most + hidden {
            let a_step = |ns: u64| ms(ns as f64 / (step.last_step - step.first_step + 1) as f64);
            let cells = [step_name(step), a_step(step.wall_ns)];
            one_by_one.add_row(cells.into_iter().chain(step.by_phase_ns.iter().map(|ns| a_step(*ns))));
        }
    }
    out.push_str(&format!("\nSteps\n{}", one_by_one.text(width)));
    fitted(&out, width)
}

/// `7`, or `9 to 10` for steps that were joined: then the row has their mean.
fn step_name(step: &StepPart) -> String {
    if step.first_step == step.last_step {
        return step.first_step.to_string();
    }
    format!("{} to {}", step.first_step, step.last_step)
}
