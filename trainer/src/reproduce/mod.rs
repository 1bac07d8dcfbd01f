//! `trainer reproduce`: measures what the seed documents measured, and writes a page for each of their 21 rows.
//!
//! ```text
//! rows: what was published, commands -> runs, a process each -> results/*.json -> pages, pictures, index
//!                                       a row that was interrupted goes on with the measurements that it lacks
//! ```
mod results;

mod spec;

mod markdown;
mod rows;

mod page;

mod index;

mod folder;

mod others;
mod runner;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result};

use self::folder::Folder;
use self::page::Shown;
use self::results::{Conditions, Depth, Outcome, Results};
use self::spec::{Measurement, Row};
use crate::cli::ReproduceArgs;
use crate::machine::Machine;
use crate::rounds::{Pace, Progress};
use crate::{console, exit_code, interrupt};

/// The seed of all commands, which is what is usual for them.
const SEED: u64 = 1;

/// Measures the rows that `args` asks for, and writes all pages. The exit code is 2 when a measurement failed or a page cannot be made
/// of its results, 130 when the user ended it.
pub fn reproduce(args: &ReproduceArgs) -> Result<ExitCode> {
    let folder = Folder::open(&args.out)?;
    if args.pages {
        let all_written = write(&folder, &args.out)?.unwritten.is_empty();
        return Ok(if all_written { ExitCode::SUCCESS } else { ExitCode::from(exit_code::FAILED) });
    }
    let rows = asked(&args.rows)?;
    let depth = if args.full { Depth::Full } else { Depth::Quick };
    let conditions = Conditions { depth, commit: commit(), machine: Machine::of_this(), seed: SEED };
    interrupt::listen()?;
    let finished = measure(&folder, &rows, &conditions, args.again)?;
    let Written { shown, unwritten } = write(&folder, &args.out)?;
    for row in &rows {
        console::print_result(&line(row, depth, shown.get(&(row.number, depth)), &args.out))?;
    }
    if !finished {
        console::print_error_line("interrupted: what was measured is kept; the same command does the rest");
        return Ok(ExitCode::from(exit_code::INTERRUPTED));
    }
    let without_verdict = |row: &&Row| shown.get(&(row.number, depth)).is_some_and(|shown| shown.verdict.is_none());
    let failed = !unwritten.is_empty() || rows.iter().any(without_verdict);
    Ok(if failed { ExitCode::from(exit_code::FAILED) } else { ExitCode::SUCCESS })
}

/// The rows that were typed; none is all.
fn asked(typed: &[String]) -> Result<Vec<&'static Row>> {
    let mut numbers = Vec::new();
    for word in typed.iter().filter(|word| *word != "all") {
        let number: Option<u8> = word.parse().ok();
        let row = number.and_then(|number| rows::ROWS.iter().find(|row| row.number == number));
        let row = row.with_context(|| format!("there is no row `{word}`; give numbers from 1 to 21, or all"))?;
        numbers.push(row.number);
    }
    let all = numbers.is_empty();
    Ok(rows::ROWS.iter().filter(|row| all || numbers.contains(&row.number)).collect())
}

/// Runs what the rows lack, and stores it. Returns whether all is there; the user may have ended it.
fn measure(folder: &Folder, rows: &[&Row], conditions: &Conditions, again: bool) -> Result<bool> {
    let measurements = |row: &Row| (row.work.measurements)(conditions.depth);
    let mut todo: Vec<(&Row, Measurement)> = Vec::new();
    let mut pace = Pace::default();
    let mut known = 0;
    for &row in rows {
        let all = measurements(row);
        known += all.len();
        let done = folder.done(row.number, conditions.depth)?;
        if done.is_some_and(|done| !again && done.conditions == *conditions && is_of(&done, &all)) {
            console::print_error_line(&format!(
                "row {}: measured before by this commit on this machine; --again measures it anew",
                row.number
            ));
            continue;
        }
        let begun = folder.begun(row.number, conditions)?;
        todo.extend(all.into_iter().filter(|one| !has(&begun, one)).map(|one| (row, one)));
    }
    let mut progress = Progress::new(known, known - todo.len());
    for (place, (row, measurement)) in todo.iter().enumerate() {
        let work = folder.work(row.number, conditions.depth, &measurement.name);
        let Some(measured) = runner::run(measurement, &work)? else { return Ok(false) };
        pace.add(place, Duration::from_nanos(measured.wall_ns));
        let how = match &measured.outcome {
            Outcome::Done(_) => format!("{:.1} s", measured.wall_ns as f64 / 1e9),
            Outcome::Failed(reason) => format!("failed: {reason}"),
        };
        let mut begun = folder.begun(row.number, conditions)?;
        begun.measured.push(measured);
        folder.store_begun(&begun)?;
        progress.ended(&format!("row {}, {}: {how}", row.number, measurement.name), pace.left(place + 1..todo.len()));
        complete(folder, row, &measurements(row), conditions)?;
    }
    // Rows of which everything was measured before an interruption, but for this.
    for &row in rows {
        if folder.has_begun(row.number, conditions.depth) {
            complete(folder, row, &measurements(row), conditions)?;
        }
    }
    Ok(true)
}

/// Makes a row's results those of the pages, if all of its measurements are there.
fn complete(folder: &Folder, row: &Row, all: &[Measurement], conditions: &Conditions) -> Result<()> {
    let mut begun = folder.begun(row.number, conditions)?;
    if all.iter().all(|one| has(&begun, one)) {
        begun.measured.sort_by_key(|measured| all.iter().position(|one| one.name == measured.name));
        folder.store_done(&begun)?;
    }
    Ok(())
}

/// Whether `results` have this measurement, by the same commands.
fn has(results: &Results, measurement: &Measurement) -> bool {
    results
        .measured
        .iter()
        .any(|measured| measured.name == measurement.name && measured.commands == measurement.commands)
}

/// Whether `results` are those of these measurements, and all of them ended well.
fn is_of(results: &Results, measurements: &[Measurement]) -> bool {
    results.failed().is_empty()
        && results.measured.len() == measurements.len()
        && measurements.iter().all(|one| has(results, one))
}

/// The rows that have a page, by number and depth.
type Known = BTreeMap<(u8, Depth), Shown>;

/// What came of the results.
struct Written {
    /// The rows that have a page.
    shown: Known,
    /// Why others have none although there are results of them.
    unwritten: Vec<String>,
}

/// Writes all pages of `path` that can be made, and says of the others why not.
fn write(folder: &Folder, path: &Path) -> Result<Written> {
    let results = folder::all(path)?;
    let (written, pages) = pages(&results);
    folder.write_pages(&pages)?;
    for problem in &written.unwritten {
        console::print_error_line(problem);
    }
    Ok(written)
}

/// All pages and pictures by name: a function of the results. A row of which none can be made keeps no other row from its page.
fn pages(results: &BTreeMap<(u8, Depth), Results>) -> (Written, BTreeMap<String, String>) {
    let (mut shown, mut unwritten) = (BTreeMap::new(), Vec::new());
    for row in &rows::ROWS {
        for depth in Depth::ALL {
            let Some(results) = results.get(&(row.number, depth)) else { continue };
            match page::show(row, results) {
                Ok(page) => drop(shown.insert((row.number, depth), page)),
                Err(error) => {
                    unwritten.push(format!("row {}: no page can be made of its results: {error:#}", row.number))
                }
            }
        }
    }
    let of = |number: u8| {
        let pages = Depth::ALL.into_iter().filter_map(|depth| Some((depth, shown.get(&(number, depth))?)));
        pages.collect::<Vec<_>>()
    };
    let entries: Vec<index::Entry<'_>> = rows::ROWS.iter().map(|row| (row, of(row.number))).collect();
    let mut pages: BTreeMap<String, String> = [("index.md".to_owned(), index::index(&entries))].into();
    for shown in shown.values() {
        pages.extend(shown.files.iter().cloned());
    }
    (Written { shown, unwritten }, pages)
}

/// What the terminal says of a row.
fn line(row: &Row, depth: Depth, shown: Option<&Shown>, out: &Path) -> String {
    let Some(Shown { verdict, number, .. }) = shown else {
        return format!("{:2}  {}: not measured", row.number, row.title);
    };
    let page = out.join(page::file_name(row, depth));
    let verdict = verdict.as_ref().map_or("no verdict".to_owned(), |verdict| {
        format!("{} {}", verdict.word(), verdict.because()).trim_end().to_owned()
    });
    format!("{:2}  {}: {number}\n    {verdict}\n    {}", row.number, row.title, page.display())
}

/// The last commit of this checkout that changed anything but documentation: what documentation says changes no number.
fn commit() -> Option<String> {
    const WITHOUT_DOCS: [&str; 3] = ["--", ":(top)", ":(top,exclude)docs"];
    let own = std::env::current_exe().ok()?;
    let git = |arguments: &[&str]| {
        let command =
            Command::new("git").args(arguments).args(WITHOUT_DOCS).current_dir(own.parent()?).output().ok()?;
        command.status.success().then(|| String::from_utf8_lossy(&command.stdout).trim().to_owned())
    };
    let name = git(&["log", "-1", "--format=%h", "--abbrev=12"]).filter(|name| !name.is_empty())?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { name } else { name + "-dirty" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of the committed pages comes from the committed results.
    #[test]
    fn the_committed_pages_are_those_of_the_committed_results() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reproduction");
        let results = folder::all(&folder).expect("the committed results can be read");
        assert!(!results.is_empty(), "there are no committed results");
        let (written, pages) = pages(&results);
        assert_eq!(written.unwritten, [] as [String; 0]);
        let names: std::collections::BTreeSet<String> = pages.keys().cloned().collect();
        assert_eq!(folder::made(&folder).expect("read"), names, "`trainer reproduce --pages` makes the pages anew");
        for (name, page) in &pages {
            let committed = std::fs::read_to_string(folder.join(name)).expect("read");
            assert!(
                committed == *page,
                "{name} is not what its results say; `trainer reproduce --pages` makes it anew"
            );
        }
    }

    #[test]
    fn a_row_without_a_page_keeps_no_other_row_from_its_own() {
        let empty = results::example(4, vec![("conv", Outcome::Done(serde_json::json!({})))]);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reproduction");
        let mut results = folder::all(&folder).expect("the committed results can be read");
        results.insert((4, Depth::Quick), empty);
        let (written, pages) = pages(&results);
        let [problem] = &written.unwritten[..] else { panic!("one row has no page: {:?}", written.unwritten) };
        assert!(problem.starts_with("row 4: no page can be made of its results: "), "{problem}");
        let has = |row: &str| pages.keys().any(|name| name.starts_with(row));
        assert!(has("row-01-") && !has("row-04-quick"), "{:?}", pages.keys());
    }

    #[test]
    fn rows_are_numbers_or_all() {
        let asked = |words: &[&str]| asked(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        let numbers = |words: &[&str]| asked(words).expect("rows").iter().map(|row| row.number).collect::<Vec<_>>();
        assert_eq!(numbers(&["18", "9"]), [9, 18]);
        assert_eq!(numbers(&["all"]), numbers(&[]));
        assert_eq!(numbers(&[]).len(), 21);
        let problem = asked(&["22"]).err().expect("refused").to_string();
        assert!(problem.contains("there is no row `22`"), "{problem}");
    }

    /// The rows are those of the study, with names that can be told apart.
    #[test]
    fn measurements_of_a_row_have_names_of_their_own() {
        assert!(rows::ROWS.iter().map(|row| row.number).eq(1..=21));
        for row in &rows::ROWS {
            for depth in [Depth::Quick, Depth::Full] {
                let mut names: Vec<String> = (row.work.measurements)(depth).into_iter().map(|one| one.name).collect();
                let count = names.len();
                names.sort();
                names.dedup();
                assert!(count > 0 && names.len() == count, "row {}: {names:?}", row.number);
            }
        }
    }
}
