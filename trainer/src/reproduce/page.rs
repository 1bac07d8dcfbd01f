//! The page of one row, and its pictures: a function of its results.
use anyhow::Result;

use super::markdown;
use super::results::{Depth, Results};
use super::spec::{Claim, Finding, Holds, Row, Table, Verdict};

/// A row as it is shown.
pub(super) struct Shown {
    /// `None` where a measurement failed that the verdict needs.
    pub(super) verdict: Option<Verdict>,
    /// The one number of the index.
    pub(super) number: String,
    /// Name of the picture of the index.
    pub(super) thumbnail: Option<String>,
    /// Name and content of each file.
    pub(super) files: Vec<(String, String)>,
}

/// The name of a row's page.
pub(super) fn file_name(row: &Row, depth: Depth) -> String {
    stem(row, depth) + ".md"
}

fn stem(row: &Row, depth: Depth) -> String {
    format!("row-{:02}-{}", row.number, depth.name())
}

/// The page of `row`, with its pictures.
///
/// # Errors
/// When the results are not those of this row's measurements.
pub(super) fn show(row: &Row, results: &Results) -> Result<Shown> {
    let depth = results.conditions.depth;
    let found = (row.work.finding)(results);
    let failed = results.failed();
    let finding = match found {
        Ok(finding) => finding,
        // What is missing follows from what failed, which the page tells.
        Err(_) if !failed.is_empty() => return Ok(without_numbers(row, results)),
        Err(problem) => return Err(problem),
    };
    let verdict = Verdict::of(&finding.claims);
    let name = |figure: &str| format!("{}-{figure}.svg", stem(row, depth));
    let mut text = head(row, depth);
    text.push_str(&match verdict.because() {
        "" => format!("**{}**: {}\n", verdict.word(), finding.number),
        because => format!("**{}** {because}.\n\nIn one number: {}\n", verdict.word(), finding.number),
    });
    text.push_str(&format!("\n## Published and measured\n\n{}", markdown::table(&claims(&finding.claims))));
    for figure in &finding.figures {
        text.push_str(&format!("\n![{}]({})\n", figure.title, name(&figure.name)));
    }
    for table in &finding.tables {
        text.push_str(&format!("\n## {}\n\n{}", table.title, markdown::table(table)));
    }
    for note in &finding.notes {
        text.push_str(&format!("\n{note}\n"));
    }
    text.push_str(&measured(row, results));
    let Finding { number, figures, .. } = finding;
    let thumbnail = figures.first().map(|figure| name(&figure.name));
    let mut files = vec![(file_name(row, depth), text)];
    files.extend(figures.into_iter().map(|figure| (name(&figure.name), figure.svg)));
    Ok(Shown { verdict: Some(verdict), number, thumbnail, files })
}

fn head(row: &Row, depth: Depth) -> String {
    let quick = match depth {
        Depth::Full => "",
        Depth::Quick => "This page is from a quick run: fewer and smaller measurements than `--full` makes.\n\n",
    };
    format!("# {}. {}\n\nSeed {}: {}\n\n{quick}", row.number, row.title, row.seed, row.published)
}

/// A page that only says what failed.
fn without_numbers(row: &Row, results: &Results) -> Shown {
    let depth = results.conditions.depth;
    let text = head(row, depth) + "There is no verdict: a measurement failed.\n" + &measured(row, results);
    let files = vec![(file_name(row, depth), text)];
    Shown { verdict: None, number: "a measurement failed".to_owned(), thumbnail: None, files }
}

fn claims(claims: &[Claim]) -> Table {
    let rows = claims.iter().map(|claim| {
        let holds = match &claim.holds {
            Holds::Yes => "yes".to_owned(),
            Holds::No(because) => format!("no: {because}"),
            Holds::Unknown(because) => format!("cannot be told here: {because}"),
        };
        vec![claim.what.clone(), claim.published.clone(), claim.measured.clone(), holds]
    });
    Table {
        title: String::new(),
        heads: ["what", "published", "measured", "holds"].map(str::to_owned).into(),
        rows: rows.collect(),
    }
}

/// What ran, where, and how it ended.
fn measured(row: &Row, results: &Results) -> String {
    let conditions = &results.conditions;
    let mut text = format!(
        "\n## How it was measured\n\n`cargo xtask reproduce {} --{}` runs\n\n```\n",
        row.number,
        conditions.depth.name()
    );
    for measured in &results.measured {
        for command in &measured.commands {
            text.push_str(&format!("{command}\n"));
        }
    }
    text.push_str("```\n\n");
    let seconds: u64 = results.measured.iter().map(|measured| measured.wall_ns).sum::<u64>() / 1_000_000_000;
    text.push_str(&format!(
        "Machine: {}. Seed {}. Commit {}. It took {seconds} s. Every number above is made of \
         [results/{file}.json](results/{file}.json).\n",
        conditions.machine.text(),
        conditions.seed,
        conditions.commit.as_deref().unwrap_or("unknown"),
        file = results.name(),
    ));
    if let Some(others) = results.others() {
        text.push_str(&format!(
            "\nOther programs used {others:.2} processors meanwhile, in the measurement that met most of it.\n"
        ));
    }
    for (measured, reason) in results.failed() {
        text.push_str(&format!("\nFailed: `{}`: {reason}\n", measured.name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{self, Outcome, number};
    use crate::reproduce::spec::{Figure, Work};
    use serde_json::json;

    fn finding(results: &Results) -> Result<Finding> {
        let ms = number(results.of("conv")?, "/ms")?;
        let gpu = Holds::Unknown("there is no GPU".to_owned());
        let claim = |what: &str, holds: Holds| Claim {
            what: what.to_owned(),
            published: "2 ms".to_owned(),
            measured: format!("{ms} ms"),
            holds,
        };
        Ok(Finding {
            claims: vec![claim("time", Holds::if_so(ms < 3.0, "it takes longer")), claim("on a GPU", gpu)],
            number: format!("{ms} ms"),
            figures: vec![Figure { name: "time".to_owned(), title: "Time".to_owned(), svg: "<svg/>".to_owned() }],
            tables: Vec::new(),
            notes: vec!["A note.".to_owned()],
        })
    }

    fn row() -> Row {
        let work = Work { measurements: |_| Vec::new(), finding };
        Row { number: 4, title: "T", seed: "000, Figure 7", published: "It takes 2 ms.", work }
    }

    #[test]
    fn a_page_has_verdict_numbers_commands_and_conditions() {
        let of = results::example(4, vec![("conv", Outcome::Done(json!({ "ms": 5.5 })))]);
        let shown = show(&row(), &of).expect("a page");
        assert_eq!(shown.verdict, Some(Verdict::Differs("it takes longer".to_owned())));
        assert_eq!(shown.thumbnail.as_deref(), Some("row-04-quick-time.svg"));
        let names: Vec<&str> = shown.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["row-04-quick.md", "row-04-quick-time.svg"]);
        for text in [
            "**differs because** it takes longer.",
            "| time | 2 ms | 5.5 ms | no: it takes longer |",
            "| on a GPU | 2 ms | 5.5 ms | cannot be told here: there is no GPU |",
            "\ntrainer conv\n",
            "Machine: A, 2 processor(s). Seed 1. Commit abc. It took 2 s.",
            "This page is from a quick run",
            "Other programs used 0.01 processors meanwhile",
        ] {
            assert!(shown.files[0].1.contains(text), "{text:?} is missing in\n{}", shown.files[0].1);
        }
    }

    #[test]
    fn a_measurement_that_failed_leaves_no_verdict() {
        let of = results::example(4, vec![("conv", Outcome::Failed("no room".to_owned()))]);
        let shown = show(&row(), &of).expect("a page");
        assert_eq!(shown.verdict, None);
        assert!(shown.files[0].1.contains("Failed: `conv`: no room"), "{}", shown.files[0].1);
        let other = results::example(4, vec![("con", Outcome::Done(json!({})))]);
        assert!(show(&row(), &other).is_err(), "results of other measurements are refused");
    }
}
