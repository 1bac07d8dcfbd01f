//! Allocators side by side: the same run over each of them, in processes that take turns.
//!
//! Peak RSS and step times are those of processes without the tracker, so that each is what the program would have alone.
//! Peak live comes from one tracked run over the same allocator. Of each process's steps the first warms up and does not
//! count.
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;

use super::request::Request;
use super::rows::{Row, Spread, best, table};
use crate::allocator::Spec;
use crate::child::{self, Ended, Job, Times};
use crate::cli::CompareArgs;
use crate::figures::{median, mib, seconds};
use crate::{console, exit_code};

/// Everything that the processes over one allocator did.
#[derive(Default)]
struct Measured {
    step_ns: Vec<u64>,
    peak_rss: Vec<u64>,
}

/// Compares the allocators for every model in every mode.
pub(super) fn compare(args: &CompareArgs, request: &Request<'_>) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file to start others beside it")?;
    let folder = program.parent().unwrap_or(Path::new(".")).to_owned();
    let mut rows = Vec::new();
    for job in &request.jobs {
        let specs: Vec<(&Spec, PathBuf)> =
            args.allocator.iter().map(|spec| (spec, folder.join(spec.program()))).collect();
        let mut measured: Vec<Measured> = specs.iter().map(|_| Measured::default()).collect();
        for round in 0..args.repeat {
            for turn in 0..specs.len() {
                // Each round begins with another allocator, so that none always runs on a machine that has warmed up.
                let index = (turn + round as usize) % specs.len();
                let (spec, program) = &specs[index];
                if !program.exists() {
                    continue;
                }
                let Some(times) = timed(program, spec, job)? else {
                    return Ok(ExitCode::from(exit_code::INTERRUPTED));
                };
                let of = format!("{} {} {spec}, {} of {}", job.model, job.mode, round + 1, args.repeat);
                let peak = times.peak_rss_bytes.map_or("unknown".to_owned(), mib);
                console::print_error_line(&format!(
                    "{of}: {} a step, peak RSS {peak}",
                    seconds(median(&times.step_ns))
                ));
                measured[index].step_ns.extend(times.step_ns);
                measured[index].peak_rss.extend(times.peak_rss_bytes);
            }
        }
        for ((spec, program), measured) in specs.iter().zip(measured) {
            let Some(peak_live) = peak_live(&folder.join("trainer"), spec, job, &args.out)? else {
                return Ok(ExitCode::from(exit_code::INTERRUPTED));
            };
            rows.push(Row {
                model: job.model.to_string(),
                mode: job.mode.to_string(),
                allocator: spec.to_string(),
                missing: (!program.exists()).then(|| {
                    format!("{} is not there; build it with cargo build --release -p trainer", program.display())
                }),
                peak_live_bytes: peak_live.as_ref().ok().copied(),
                peak_live_missing: peak_live.err(),
                peak_rss_bytes: Spread::of(&measured.peak_rss),
                step_ns: Spread::of(&measured.step_ns),
            });
        }
    }
    if args.json {
        let work = &args.work;
        // The size of what the first model that reads texts, or images, reads.
        let size =
            |texts| args.models.iter().find(|model| model.reads_text() == texts).map(|&model| work.input.size(model));
        let object = json!({
            "batch": work.batch, "image_size": size(false), "length": size(true), "steps": work.steps, "repeat": args.repeat,
            "threads": request.jobs.first().map(|job| job.threads), "rows": rows, "best": best(&rows),
        });
        console::print_result(&object.to_string())?;
    } else {
        console::print_result(&format!("{}\n{}", request.conditions, table(&rows)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One run without the tracker; `None` when the user ended it. The first step is left out where there are more.
fn timed(program: &Path, spec: &Spec, job: &Job<'_>) -> Result<Option<Times>> {
    let mut command = child::untracked_over(program, spec, job);
    let Some(stdout) = finished(&mut command, spec)? else { return Ok(None) };
    let mut times: Times =
        serde_json::from_str(&stdout).with_context(|| format!("{spec}: printed something else than its times"))?;
    if times.step_ns.len() > 1 {
        times.step_ns.remove(0);
    }
    Ok(Some(times))
}

/// Most live bytes over this allocator, by a tracked run, or why there is no such run; `None` when the user ended it.
fn peak_live(trainer: &Path, spec: &Spec, job: &Job<'_>, folder: &Path) -> Result<Option<Result<u64, String>>> {
    let Some(backend) = spec.kind().backend() else {
        let reason = "the tracker serves C++ over jemalloc and glibc alone";
        return Ok(Some(Err(reason.to_owned())));
    };
    if !trainer.exists() {
        return Ok(Some(Err(format!("{} is not there", trainer.display()))));
    }
    let out = folder.join(format!("{}-{}-{}.timeline.json", job.model, job.mode, spec.file_name()));
    let mut command = child::over(trainer, spec, job);
    command.env("ALLOC_TRACKER_BACKEND", backend).arg("--out").arg(&out);
    let Some(_) = finished(&mut command, spec)? else { return Ok(None) };
    Ok(Some(Ok(alloc_timeline::load(&out)?.peak.live_bytes)))
}

/// Runs `command`; its stdout, or `None` when the user ended it.
fn finished(command: &mut Command, spec: &Spec) -> Result<Option<String>> {
    match child::ended(command)? {
        Ended::Done(stdout) => Ok(Some(stdout)),
        Ended::Interrupted => Ok(None),
        Ended::Failed { status, said } => {
            if let Some(refused) = said.lines().find(|line| line.starts_with("<jemalloc>: ")) {
                bail!("{spec}: jemalloc refuses the setting: {refused}");
            }
            Err(anyhow!("{}", said.trim()).context(format!("{spec}: the run ended with {status}")))
        }
    }
}
