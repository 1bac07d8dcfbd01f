//! `trainer fit-table`: the largest batch of each network under each budget, from its plan and three small measured runs of it, and
//! the seed document 001's list of what trains in 8 GB and what does not.
//!
//! ```text
//! lenet5, measured -> process -\
//! plan, three batches measured -> forecast -> edge in each budget, why none -> table
//!                                                \-> runs under the budget as their limit (--verify)
//! ```
//!
//! With `--base` nothing is measured: the plan and that number are all, and the workspace inside of operators is missing.
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::case::Case;
use super::edge::Edge;
use super::forecast::{Forecast, Sample};
use super::suite::Suite;
use super::trial::{Pages, Trials};
use crate::child::Job;
use crate::cli::{FitTableArgs, InputArgs, Models, WorkArgs};
use crate::data::{Corpus, TextLabels, Texts};
use crate::device::DeviceName;
use crate::figures::{mib, table};
use crate::model::ModelName;
use crate::model::plan::bytes_an_image;
use crate::precision::Precision;
use crate::settings::Mode;
use crate::{check, console, exit_code, interrupt};

/// The batch of the run that the process is measured by.
const BASE_BATCH: u64 = 2;
/// The largest batch that is measured; smaller where a network would need more than these bytes for it, but not below four.
const MEASURED: u64 = 16;
const MEASURED_BYTES: u64 = 1 << 30;
const LEAST_MEASURED: u64 = 4;
/// Where the edge is so many times the largest of these batches, a run near the edge is measured as well: oneDNN takes other ways from some
/// batch on, for example where a map comes to have 2^31 bytes in its layout.
const FAR: u64 = 1000;
/// The optimizer's state is there in the second step.
const STEPS: u64 = 2;

/// One network under all budgets.
#[derive(Debug, Serialize)]
struct Row {
    model: &'static str,
    size: u64,
    /// Bytes at the planned peak of one input, and of what each further one brings and leaves for the backward pass.
    one_bytes: u64,
    bytes_an_input: u64,
    /// What the process needs besides tensors and workspace.
    process_bytes: u64,
    /// Why it was not measured, and is answered from shapes alone.
    not_measured: Option<String>,
    edges: Vec<Edge>,
}

/// Prints the tables that `args` asks for.
///
/// # Errors
/// When the process cannot be measured, or no network takes what was asked for.
pub fn fit_table(args: &FitTableArgs) -> Result<ExitCode> {
    let device = args.work.device;
    check::optimizer(args.optimizer)?;
    ensure!(device == DeviceName::Cpu, "--device {device}: this is about the memory of a process; give --device cpu");
    let fits = |case: &Case| {
        let asked = InputArgs::of(case.model, case.size, case.classes);
        let taken = check::input(case.model, &asked).and_then(|()| case.takes(BASE_BATCH));
        let Err(reason) = taken else { return true };
        console::print_error_line(&format!("left out: {}: {reason}", case.model));
        false
    };
    let cases = Models::listed(&args.models).into_iter().map(|model| Case::asked(model, args));
    let cases: Vec<Case> = cases.filter(fits).collect();
    ensure!(!cases.is_empty(), "no network takes what was asked for; the reasons stand above");
    interrupt::listen_for_a_command()?;
    let folder = tempfile::tempdir().context("there is no place for the timelines of the runs")?;
    let runs = Runs { args, folder: folder.path() };
    let base = args.base.map_or_else(|| runs.base(), Ok)?;
    let mut rows = Vec::new();
    let mut forecasts: Vec<(Case, Forecast)> = Vec::new();
    for case in cases {
        let (forecast, not_measured) = runs.forecast(&case, base);
        let mut edges = Vec::new();
        for &budget in &args.budgets {
            edges.push(runs.edge(&case, budget, &forecast)?);
        }
        if interrupt::requested() {
            return Ok(ExitCode::from(exit_code::INTERRUPTED));
        }
        rows.push(Row {
            model: case.model.as_str(),
            size: case.size,
            one_bytes: case.step(1)?.peak().bytes,
            bytes_an_input: bytes_an_image(&case.model.stages(case.classes), case.model.input_of(case.size))?,
            process_bytes: forecast.process_bytes(),
            not_measured,
            edges,
        });
        forecasts.push((case, forecast));
    }
    let suite = Suite::new(|model| {
        let case = Case::reference(model, args.optimizer);
        let measured = forecasts.iter().find(|(measured, _)| *measured == case);
        (case, measured.map_or_else(|| Forecast::of_shapes(base), |(_, forecast)| forecast.clone()))
    })?;
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
    let mut heads: Vec<String> =
        ["model", ">size", ">one input", ">a further one", ">process"].map(str::to_owned).into();
    heads.extend(args.budgets.iter().map(|&budget| format!(">in {}", size_text(budget))));
    let cells = rows.iter().map(|row| {
        let bytes = [row.one_bytes, row.bytes_an_input, row.process_bytes].map(mib);
        let names = [row.model.to_owned(), row.size.to_string()];
        names.into_iter().chain(bytes).chain(row.edges.iter().map(Edge::text)).collect()
    });
    let mut text = format!(
        "largest batch in training by {}\n{}\none input, a further one: live tensors by the plan. process: what a run needs \
         besides tensors and workspace, ",
        args.optimizer,
        table(&heads, cells)
    );
    text.push_str(&match args.base {
        Some(_) => "as given\nfrom shapes alone: not in it are the workspace inside of operators and freed pages that the \
                    allocator keeps; so no larger batch fits, and this one may not"
            .to_owned(),
        None => format!(
            "measured with the workspace of operators in runs of up to {MEASURED} inputs ({} by lenet5), freed pages given \
             back; an allocator that keeps them needs more",
            mib(base)
        ),
    });
    for row in rows {
        let model = row.model;
        if let Some(reason) = &row.not_measured {
            text.push_str(&format!("\nfrom shapes alone, without workspace: {model}: {reason}"));
        }
        for edge in &row.edges {
            let place = format!("{model} in {}", size_text(edge.budget_bytes));
            if let Some(reason) = &edge.reason {
                text.push_str(&format!("\n{place}: no batch fits: {}", reason.text("input")));
            }
            if let Some(reason) = &edge.skipped {
                text.push_str(&format!("\nnot run: {place}: {reason}"));
            }
        }
    }
    text
}

/// `8 GiB`, or what it is in MiB.
fn size_text(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 30) { format!("{} GiB", bytes >> 30) } else { mib(bytes) }
}

/// The runs behind the tables.
struct Runs<'a> {
    args: &'a FitTableArgs,
    folder: &'a Path,
}

impl Runs<'_> {
    /// What a small run needs beyond what its shapes say.
    fn base(&self) -> Result<u64> {
        let case = Case::reference(ModelName::LeNet5, self.args.optimizer);
        console::print_error_line("measuring what the process itself needs: lenet5");
        let measured = self.with_trials(&case, |trials| trials.measure(BASE_BATCH, Pages::GivenBack))?;
        Ok(measured.point.unreclaimable_bytes.saturating_sub(case.step(BASE_BATCH)?.peak().bytes))
    }

    /// What `case` needs at any batch, from three runs of it. Where they cannot be made, from shapes and `base`, and why.
    fn forecast(&self, case: &Case, base: u64) -> (Forecast, Option<String>) {
        if self.args.base.is_some() {
            return (Forecast::of_shapes(base), None);
        }
        match self.samples(case) {
            Ok(samples) => (Forecast::measured(&samples), None),
            Err(reason) => (Forecast::of_shapes(base), Some(format!("{reason:#}"))),
        }
    }

    /// Measures `case` in batches of a quarter, a half and all of what is small enough.
    fn samples(&self, case: &Case) -> Result<Vec<Sample>> {
        let mut most = MEASURED;
        while most > LEAST_MEASURED && case.step(most)?.peak().bytes > MEASURED_BYTES {
            most /= 2;
        }
        let mut samples = Vec::new();
        for batch in [most / 4, most / 2, most] {
            if case.takes(batch).is_err() {
                continue;
            }
            ensure!(!interrupt::requested(), "it was interrupted");
            samples.push(self.sample(case, batch)?);
        }
        Ok(samples)
    }

    fn sample(&self, case: &Case, batch: u64) -> Result<Sample> {
        console::print_error_line(&format!("measuring {}, batch {batch}", case.model));
        let measured = self.with_trials(case, |trials| {
            let work = WorkArgs { batch, ..trials.work.clone() };
            check::memory(case.model, &work, Some(case.optimizer), Precision::Fp32)?;
            trials.measure(batch, Pages::GivenBack)
        })?;
        Ok(Sample::new(batch, case.step(batch)?, measured.point.unreclaimable_bytes, &measured.timeline))
    }

    /// The edge by `forecast`, and by a run near it where that is far from what was measured.
    fn forecast_edge(&self, case: &Case, budget: u64, forecast: &Forecast) -> Result<Edge> {
        let edge = Edge::of(case, budget, forecast)?;
        if self.args.base.is_some() || edge.largest < FAR * MEASURED {
            return Ok(edge);
        }
        ensure!(!interrupt::requested(), "it was interrupted");
        match self.sample(case, edge.largest / 8 * 7) {
            Ok(far) => Edge::of(case, budget, &forecast.corrected(&far)),
            Err(reason) => {
                let (model, largest) = (case.model, edge.largest);
                console::print_error_line(&format!(
                    "{model}: {largest} is from runs of up to {MEASURED} inputs: {reason:#}"
                ));
                Ok(edge)
            }
        }
    }

    /// The largest batch of `case` in `budget`, put to the test where that was asked for.
    fn edge(&self, case: &Case, budget: u64, forecast: &Forecast) -> Result<Edge> {
        let mut edge = self.forecast_edge(case, budget, forecast)?;
        if self.args.verify {
            edge.look_for_it(case.smallest(), |batch| {
                ensure!(!interrupt::requested(), "it was interrupted");
                case.takes(batch)?;
                console::print_error_line(&format!("running {}, batch {batch}, in {}", case.model, size_text(budget)));
                self.with_trials(case, |trials| trials.limited(batch, Pages::GivenBack, budget))
            });
        }
        Ok(edge)
    }

    /// Of a network that tells from which file a text is, a folder with the texts of `data` in as many files as it tells apart:
    /// its classes are those of its reference, and `data` may have more files.
    fn texts_of(&self, case: &Case, data: &Path) -> Result<Option<PathBuf>> {
        let Some(Texts { labels: TextLabels::File { classes }, .. }) = case.model.texts(case.classes) else {
            return Ok(None);
        };
        let folder = self.folder.join(format!("texts-{classes}"));
        let unwritable = || format!("{}: cannot be written", folder.display());
        std::fs::create_dir_all(&folder).with_context(unwritable)?;
        for (index, text) in Corpus::open(data)?.joined(classes as usize).into_iter().enumerate() {
            std::fs::write(folder.join(format!("{index:04}.txt")), text).with_context(unwritable)?;
        }
        Ok(Some(folder))
    }

    fn with_trials<T>(&self, case: &Case, run: impl FnOnce(&Trials<'_>) -> Result<T>) -> Result<T> {
        let asked = &self.args.work;
        let data = check::data_folder(case.model, asked.data.as_deref())?;
        let data = self.texts_of(case, &data)?.unwrap_or(data);
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
    fn budgets_in_the_unit_that_they_are_typed_in() {
        assert_eq!([8 << 30, 512 << 20, 3 << 29].map(size_text), ["8 GiB", "512.0 MiB", "1536.0 MiB"]);
    }
}
