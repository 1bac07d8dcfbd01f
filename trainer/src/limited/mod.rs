//! `trainer run-limited`: a command under one limit of memory or several, and what each did to it.
//!
//! ```text
//! limits -> a group each -> the command's end, counters, timeline or log -> rows -> text, CSV, JSON, SVG
//! ```
mod culprit;
mod search;

mod row;

mod plot;

mod files;
mod report;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde_json::json;

use self::row::Row;
use crate::cli::RunLimitedArgs;
use crate::limit::{self, Holder, Limit, Stdout};
use crate::{check, console, interrupt};

/// Runs the command under each limit. The exit code is the command's where there is one limit, and 0 where there are
/// several, some of which are meant to break.
pub fn run_limited(args: &RunLimitedArgs) -> Result<ExitCode> {
    if let Some(folder) = &args.out {
        check::writable_folder(folder)?;
    }
    interrupt::listen_for_a_command()?;
    let many = args.memory.len() > 1;
    let mut rows = Vec::new();
    let mut code = 0;
    for &limit in &args.memory {
        if interrupt::requested() {
            break;
        }
        let stdout = if many || args.json { Stdout::Stderr } else { Stdout::Own };
        let (row, holder) = under(args, limit, stdout)?;
        if many {
            console::print_error_line(&format!("{}: {}, {}", row.limit_text(), row.ended(), holder));
        } else if !args.json {
            // The command has stdout for itself.
            console::print_error_line(&report::one(&row, &holder));
        }
        code = row.exit_code;
        rows.push(row);
    }
    if let Some(folder) = &args.out {
        files::write(&rows, &args.command, folder)?;
    }
    if args.json {
        console::print_result(&json!({ "command": words(&args.command), "rows": rows }).to_string())?;
    } else if many {
        console::print_result(&report::several(&rows))?;
    }
    let stopped = interrupt::requested();
    Ok(ExitCode::from(if many && !stopped { 0 } else { code }))
}

/// One run. Returns its row, and what enforced the limit in words.
fn under(args: &RunLimitedArgs, limit: Limit, stdout: Stdout) -> Result<(Row, String)> {
    let began = SystemTime::now();
    let holder = Holder::make(args.by, limit, args.swap)?;
    if let (Holder::AddressSpace(_), Some(_)) = (&holder, args.swap) {
        console::print_error_line(
            "note: without a control group there is no limit of swap: --swap holds for nothing here",
        );
    }
    let ran = limit::run(&args.command, &[], &holder, limit, stdout)?;
    let mut found = search::find(&args.command, began);
    if let (Some(found), Some(folder)) = (&mut found, &args.out) {
        let name = format!("limit-{}.timeline.json", limit.0.map_or("none".to_owned(), |bytes| bytes.to_string()));
        keep(&found.timeline, &folder.join(&name))?;
        found.path = folder.join(name);
    }
    let found = found.as_ref().map(|found| (found.path.display().to_string(), &found.timeline));
    Ok((Row::new(limit, holder.word(), &ran, found), holder.describe()))
}

/// Stores a run's timeline where the next run does not write over it.
fn keep(timeline: &alloc_timeline::Timeline, path: &Path) -> Result<()> {
    alloc_timeline::store(timeline, path)
        .with_context(|| format!("{}: cannot be written; choose another folder with --out", path.display()))
}

/// The command as it was typed.
fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
