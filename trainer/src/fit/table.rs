//! `trainer fit-table`: the largest batch of each network under each budget, from its plan, and the seed document 001's list of
//! what trains in 8 GB and what does not.
//!
//! What a process needs is taken as a base, which is the same for all networks (libraries, tracker, stacks), and the predicted
//! peak. The workspace inside of operators is not in it: the largest batch here is an upper bound, which `--verify` puts to the
//! test in runs under the budget as their limit.
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::case::Case;
use super::suite::Suite;
use super::trial::{Pages, Trial, Trials};
use crate::child::Job;
use crate::cli::{FitTableArgs, InputArgs, Models, WorkArgs};
use crate::device::DeviceName;
use crate::figures::{mib, table};
use crate::model::ModelName;
use crate::model::plan::bytes_an_image;
use crate::settings::Mode;
use crate::{check, console, exit_code, interrupt};

/// The batch of the run that the base is measured by.
const BASE_BATCH: u64 = 2;
/// The steps of a run at the edge.
const STEPS: u64 = 2;
/// A batch that is killed is followed by one that is smaller by this part, so often.
const DOWN: u64 = 16;
const TRIES: usize = 6;

/// One network under all budgets.
#[derive(Debug, Serialize)]
struct Row {
    model: &'static str,
    size: u64,
    /// Bytes at the peak of one input, and of what each further one brings and leaves for the backward pass.
    one_bytes: u64,
    bytes_an_input: u64,
    edges: Vec<Edge>,
}

/// The largest batch under one budget.
#[derive(Debug, Serialize)]
struct Edge {
    budget_bytes: u64,
    largest: u64,
    /// Runs under the budget, in the order in which they were made.
    trials: Vec<Trial>,
    /// Why there are none.
    skipped: Option<String>,
}

impl Edge {
    /// `56`, `56, of that 52 ran`, `0`.
    fn text(&self) -> String {
        let passed = self.trials.iter().find(|trial| trial.passed).map(|trial| trial.batch);
        match (passed, self.trials.last()) {
            (Some(passed), _) if passed == self.largest => format!("{passed}, it ran"),
            (Some(passed), _) => format!("{}, {passed} ran", self.largest),
            (None, Some(last)) => format!("{}, {} killed", self.largest, last.batch),
            (None, None) => self.largest.to_string(),
        }
    }
}

/// Prints the tables that `args` asks for.
///
/// # Errors
/// When the base cannot be measured, or a network does not take the size.
pub fn fit_table(args: &FitTableArgs) -> Result<ExitCode> {
    let device = args.work.device;
    check::optimizer(args.optimizer)?;
    ensure!(device == DeviceName::Cpu, "--device {device}: this is about the memory of a process; give --device cpu");
    let fits = |case: &Case| match check::sizes(case.model, BASE_BATCH, case.size, case.classes, true) {
        Ok(()) => true,
        Err(reason) => {
            console::print_error_line(&format!("left out: {}: {reason}", case.model));
            false
        }
    };
    let cases = Models::listed(&args.models).into_iter().map(|model| Case::asked(model, args));
    let cases: Vec<Case> = cases.filter(fits).collect();
    ensure!(!cases.is_empty(), "no network takes what was asked for; the reasons stand above");
    interrupt::listen_for_a_command()?;
    let folder = tempfile::tempdir().context("there is no place for the timelines of the runs")?;
    let runs = Runs { args, folder: folder.path() };
    let base = args.base.map_or_else(|| runs.base(), Ok)?;
    let mut rows = Vec::new();
    for case in cases {
        let edges = args.budgets.iter().map(|&budget| runs.edge(&case, budget, base)).collect::<Result<Vec<Edge>>>()?;
        if interrupt::requested() {
            return Ok(ExitCode::from(exit_code::INTERRUPTED));
        }
        rows.push(Row {
            model: case.model.as_str(),
            size: case.size,
            one_bytes: case.peak(1)?,
            bytes_an_input: bytes_an_image(&case.model.stages(case.classes), case.model.input_of(case.size))?,
            edges,
        });
    }
    let suite = Suite::new(base, |model| Case::reference(model, args.optimizer))?;
    let text = if args.json {
        let optimizer = args.optimizer.name.as_str();
        serde_json::json!({ "base_bytes": base, "optimizer": optimizer, "rows": rows, "suite": suite }).to_string()
    } else {
        text(&rows, args, base) + "\n\n" + &suite.text()
    };
    console::print_result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The table of budgets.
fn text(rows: &[Row], args: &FitTableArgs, base: u64) -> String {
    let mut heads: Vec<String> = ["model", ">size", ">one input", ">a further one"].map(str::to_owned).into();
    heads.extend(args.budgets.iter().map(|&budget| format!(">in {}", mib(budget))));
    let cells = rows.iter().map(|row| {
        let numbers = [row.model.to_owned(), row.size.to_string(), mib(row.one_bytes), mib(row.bytes_an_input)];
        numbers.into_iter().chain(row.edges.iter().map(Edge::text)).collect()
    });
    let how = if args.base.is_some() { "as given" } else { "measured by a run of lenet5, pages given back" };
    let mut text = format!(
        "largest batch in training by {}, from shapes\n{}\nbesides: {} for the process itself, {how}\nnot in it: \
         workspace inside of operators, and freed pages that the allocator keeps; so no larger batch fits, and this one \
         may not",
        args.optimizer,
        table(&heads, cells),
        mib(base)
    );
    for row in rows {
        for edge in &row.edges {
            if let Some(reason) = &edge.skipped {
                text.push_str(&format!("\nnot run: {} in {}: {reason}", row.model, mib(edge.budget_bytes)));
            }
        }
    }
    text
}

/// The runs behind the tables.
struct Runs<'a> {
    args: &'a FitTableArgs,
    folder: &'a std::path::Path,
}

impl Runs<'_> {
    /// What a small run needs beyond what its shapes say.
    fn base(&self) -> Result<u64> {
        let case = Case::reference(ModelName::LeNet5, self.args.optimizer);
        console::print_error_line("measuring what the process itself needs: lenet5");
        let measured = self.with_trials(&case, |trials| trials.measure(BASE_BATCH, Pages::GivenBack))?;
        Ok(measured.point.unreclaimable_bytes.saturating_sub(case.peak(BASE_BATCH)?))
    }

    /// The largest batch of `case` in `budget`, put to the test where that was asked for.
    fn edge(&self, case: &Case, budget: u64, base: u64) -> Result<Edge> {
        let largest = case.largest(budget.saturating_sub(base))?;
        let mut edge = Edge { budget_bytes: budget, largest, trials: Vec::new(), skipped: None };
        if !self.args.verify {
            return Ok(edge);
        }
        let mut batch = largest;
        while batch > 0 && edge.trials.len() < TRIES && !interrupt::requested() {
            console::print_error_line(&format!("running {}, batch {batch}, in {}", case.model, mib(budget)));
            match self.with_trials(case, |trials| trials.limited(batch, Pages::GivenBack, budget)) {
                Ok(trial) => {
                    let passed = trial.passed;
                    edge.trials.push(trial);
                    if passed {
                        break;
                    }
                    batch -= (batch / DOWN).max(1);
                }
                Err(reason) => {
                    edge.skipped = Some(format!("{reason:#}"));
                    break;
                }
            }
        }
        Ok(edge)
    }

    fn with_trials<T>(&self, case: &Case, run: impl FnOnce(&Trials<'_>) -> Result<T>) -> Result<T> {
        let asked = &self.args.work;
        let data = check::data_folder(case.model, asked.data.as_deref())?;
        let threads = check::threads(asked.threads)?;
        let work =
            WorkArgs { steps: STEPS, input: InputArgs::of(case.model, case.size, case.classes), ..asked.clone() };
        let (model, optimizer) = (case.model, self.args.optimizer);
        let job = Job { model, mode: Mode::Train, work: &work, batch: 1, threads, data: &data, optimizer };
        run(&Trials { job, work: &work, folder: self.folder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_in_words() {
        let edge = |trials: &[(u64, bool)]| Edge {
            budget_bytes: 0,
            largest: 56,
            trials: trials.iter().map(|&(batch, passed)| Trial::ended(batch, passed)).collect(),
            skipped: None,
        };
        assert_eq!(edge(&[]).text(), "56");
        assert_eq!(edge(&[(56, true)]).text(), "56, it ran");
        assert_eq!(edge(&[(56, false), (53, true)]).text(), "56, 53 ran");
        assert_eq!(edge(&[(56, false), (53, false)]).text(), "56, 53 killed");
    }
}
