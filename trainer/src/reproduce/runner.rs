//! Runs the commands of a measurement, one process each, and reads what they leave.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

use super::others::Watch;
use super::results::{Measured, Outcome};
use super::spec::{FOLDER, Measurement};
use crate::{child, console, exit_code, interrupt};

/// Lines of a failed command that are kept.
const KEPT_LINES: usize = 3;

/// How one command ended.
enum Ended {
    Printed(String),
    Refused(String),
    Interrupted,
}

/// Runs `measurement` with `folder` as its folder; `None` when the user ended it. What a command says on stderr is shown.
///
/// # Errors
/// When a program is not there, or what a command wrote cannot be read.
pub(super) fn run(measurement: &Measurement, folder: &Path) -> Result<Option<Measured>> {
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    let (began, watch) = (Instant::now(), Watch::start());
    let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut parts = Map::new();
    let mut refused = None;
    for typed in &measurement.commands {
        match run_one(typed, folder)? {
            Ended::Printed(stdout) => {
                add(&mut parts, &stdout, measurement.keep).with_context(|| format!("`{typed}` printed no JSON"))?;
            }
            Ended::Refused(reason) => {
                refused = Some(reason);
                break;
            }
            Ended::Interrupted => return Ok(None),
        }
    }
    let outcome = refused.map_or_else(|| Outcome::Done(Value::Object(parts)), Outcome::Failed);
    Ok(Some(Measured {
        name: measurement.name.clone(),
        commands: measurement.commands.clone(),
        outcome,
        started_unix_s,
        wall_ns: began.elapsed().as_nanos() as u64,
        others: watch.and_then(|watch| watch.others()),
    }))
}

fn run_one(typed: &str, folder: &Path) -> Result<Ended> {
    if interrupt::requested() {
        return Ok(Ended::Interrupted);
    }
    console::print_error_line(&format!("$ {typed}"));
    let place = folder.display().to_string();
    let output = child::output_with(&mut command(typed, folder)?, |line| {
        console::print_error_line(&format!("    {line}"));
    })?;
    Ok(match output.status.code() {
        // The results say nothing of where the folder lies on this machine.
        Some(0) => Ended::Printed(String::from_utf8_lossy(&output.stdout).replace(&place, FOLDER)),
        Some(code) if code == i32::from(exit_code::INTERRUPTED) => Ended::Interrupted,
        _ if interrupt::requested() => Ended::Interrupted,
        _ => {
            let said = without_home(&String::from_utf8_lossy(&output.stderr).replace(&place, FOLDER));
            let lines: Vec<&str> = said.lines().collect();
            let last = lines[lines.len().saturating_sub(KEPT_LINES)..].join("; ");
            Ended::Refused(format!("{}: {last}", output.status))
        }
    })
}

/// The text with `~` for the folder of the user, who is no part of the results.
fn without_home(text: &str) -> String {
    match std::env::var("HOME") {
        Ok(home) if home.len() > 1 => text.replace(&home, "~"),
        _ => text.to_owned(),
    }
}

/// The command that was typed.
fn command(typed: &str, folder: &Path) -> Result<Command> {
    let mut words = typed.split_whitespace().peekable();
    let mut settings = Vec::new();
    while let Some(setting) = words.next_if(|word| word.contains('=')) {
        settings.extend(setting.split_once('='));
    }
    let name = words.next().context("a command names a program")?;
    let own = std::env::current_exe().context("cannot find this program's own file to start it again")?;
    let mut command = Command::new(program(&own, name)?);
    command.env("PATH", path(&own)?).envs(settings);
    command.args(words.map(|word| word.replace(FOLDER, &folder.display().to_string())));
    Ok(command)
}

/// The path with this program's folder in front, for commands that are given to a command.
fn path(own: &Path) -> Result<OsString> {
    let folders = own.parent().map(Path::to_owned);
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&others)))
        .context("PATH cannot be put together")
}

/// This program, or one that lies beside it.
fn program(own: &Path, name: &str) -> Result<PathBuf> {
    if name == "trainer" {
        return Ok(own.to_owned());
    }
    let path = own.with_file_name(name);
    ensure!(path.exists(), "{}: is not there; build it with `cargo build --release -p {name}`", path.display());
    Ok(path)
}

/// Adds the parts named `keep` of what a command printed, or all of it.
fn add(parts: &mut Map<String, Value>, stdout: &str, keep: &[&str]) -> Result<()> {
    if !stdout.trim_start().starts_with(['{', '[']) {
        return Ok(());
    }
    match serde_json::from_str(stdout)? {
        Value::Object(all) if keep.is_empty() => parts.extend(all),
        Value::Object(all) => {
            let all = Value::Object(all);
            for path in keep {
                if let Some(part) = all.pointer(&format!("/{path}")) {
                    put(parts, path, part.clone());
                }
            }
        }
        // The viewer answers of several timelines with a list.
        other => drop(parts.insert("all".to_owned(), other)),
    }
    Ok(())
}

/// Puts a part where it was: `peak/live_bytes` into the part `peak`.
fn put(parts: &mut Map<String, Value>, path: &str, part: Value) {
    match path.split_once('/') {
        None => drop(parts.insert(path.to_owned(), part)),
        Some((first, rest)) => {
            let inner = parts.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                put(inner, rest, part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_program_and_folder_are_told_apart() {
        let command = command("A=1 B=x trainer plan --out {folder}/a.json", Path::new("some/where")).expect("fine");
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["plan", "--out", "some/where/a.json"]);
        assert_eq!(command.get_envs().count(), 2 + 1, "the path is set too");
    }

    #[test]
    fn parts_of_several_answers_are_put_together() {
        let mut parts = Map::new();
        add(&mut parts, "wrote a file", &[]).expect("no JSON is no error");
        add(&mut parts, r#"{"peak": 1, "run": {"path": "x"}}"#, &["peak", "steps"]).expect("fine");
        add(&mut parts, r#"{"steps": [2]}"#, &["peak", "steps"]).expect("fine");
        assert_eq!(Value::Object(parts), json!({ "peak": 1, "steps": [2] }));
    }

    #[test]
    fn a_part_of_a_part_stays_where_it_was() {
        let mut parts = Map::new();
        let stdout = r#"{"peak": {"live_bytes": 5, "time_ns": 6, "by_op": {"conv": 4}}, "other": 7}"#;
        add(&mut parts, stdout, &["peak/live_bytes", "peak/by_op", "peak/missing"]).expect("fine");
        assert_eq!(Value::Object(parts), json!({ "peak": { "live_bytes": 5, "by_op": { "conv": 4 } } }));
    }
}
