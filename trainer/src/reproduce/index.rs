//! `index.md`: all rows with their verdicts, one number and one picture each.
use super::markdown;
use super::page::{Shown, file_name};
use super::results::Depth;
use super::spec::{Row, Table};

/// A row with its pages; that of the full run first, where there are both.
pub(super) type Entry<'a> = (&'a Row, Vec<(Depth, &'a Shown)>);

/// The page.
pub(super) fn index(entries: &[Entry<'_>]) -> String {
    let known = entries.iter().filter_map(|(_, pages)| pages.first());
    let with_verdict = known.filter(|(_, shown)| shown.verdict.is_some()).count();
    let rows = entries.iter().map(|(row, pages)| {
        let number = row.number;
        let cells = |name: String, verdict: &str, one: &str, picture: String, depth: &str| {
            [
                number.to_string(),
                name,
                row.seed.to_owned(),
                verdict.to_owned(),
                one.to_owned(),
                picture,
                depth.to_owned(),
            ]
            .to_vec()
        };
        match pages.as_slice() {
            [] => {
                let not_yet = format!("not measured yet: `cargo xtask reproduce {number} --full`");
                cells(row.title.to_owned(), &not_yet, "", String::new(), "")
            }
            [(depth, shown), others @ ..] => {
                let page = file_name(row, *depth);
                let verdict = shown.verdict.as_ref().map_or("no verdict", |verdict| verdict.word());
                let picture = shown.thumbnail.as_ref().map_or(String::new(), |name| {
                    format!("<a href=\"{page}\"><img src=\"{name}\" width=\"180\" alt=\"{}\"></a>", row.title)
                });
                let others =
                    others.iter().map(|(depth, _)| format!(", [{}]({})", depth.name(), file_name(row, *depth)));
                let depths = depth.name().to_owned() + &others.collect::<String>();
                cells(format!("[{}]({page})", row.title), verdict, &shown.number, picture, &depths)
            }
        }
    });
    let table = Table {
        title: String::new(),
        heads: [">", "what", "seed", "verdict", "in one number", "", "run"].map(str::to_owned).into(),
        rows: rows.collect(),
    };
    format!(
        "# What the seed documents found, measured again\n\n\
         Five documents on training neural networks on small devices made {} systems and experiments. Each has a row here; {with_verdict} \
         of them have a verdict today. A page says what was published, what this project measured, with which commands, and on which \
         machine.\n\n\
         `cargo xtask reproduce 18 --quick` measures one row on your machine and writes its page, `cargo xtask reproduce all --quick` all of them. \
         The pages are made of the files in `results/` and of nothing else. The column `run` says whether a row was measured by \
         `--quick` or by `--full`. Claims about times are judged only where other programs left the processors alone meanwhile.\n\n{}",
        entries.len(),
        markdown::table(&table)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::spec::{Verdict, Work};

    #[test]
    fn rows_with_and_without_results() {
        let work = Work { measurements: |_: Depth| Vec::new(), finding: |_| unreachable!("is not asked here") };
        let some = Row { number: 4, title: "Kernels", seed: "000", published: "", work };
        let later = Row { number: 5, title: "Batches", ..some };
        let shown = Shown {
            verdict: Some(Verdict::Reproduced),
            number: "2 ms".to_owned(),
            thumbnail: Some("row-04-full-time.svg".to_owned()),
            files: Vec::new(),
        };
        let text = index(&[(&some, vec![(Depth::Full, &shown), (Depth::Quick, &shown)]), (&later, vec![])]);
        for line in [
            "| 4 | [Kernels](row-04-full.md) | 000 | reproduced | 2 ms | <a href=\"row-04-full.md\"><img \
             src=\"row-04-full-time.svg\" width=\"180\" alt=\"Kernels\"></a> | full, [quick](row-04-quick.md) |",
            "| 5 | Batches | 000 | not measured yet: `cargo xtask reproduce 5 --full` |  |  |  |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is missing in\n{text}");
        }
        assert!(text.contains("made 2 systems") && text.contains("1 of them have a verdict"), "{text}");
    }
}
