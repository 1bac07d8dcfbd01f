//! Tables and links as Markdown.
use super::spec::Table;

/// The table. A head that begins with `>` belongs to a column aligned to the right.
pub(super) fn table(table: &Table) -> String {
    let heads = table.heads.iter().map(|head| head.trim_start_matches('>'));
    let lines = table.heads.iter().map(|head| if head.starts_with('>') { "--:" } else { "---" });
    let mut text = line(heads) + &line(lines);
    for row in &table.rows {
        text.push_str(&line(row.iter().map(String::as_str)));
    }
    text
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_worked_by_hand() {
        let rows = vec![vec!["a|b".to_owned(), "1".to_owned()]];
        let of = Table { title: String::new(), heads: ["name", ">n"].map(str::to_owned).into(), rows };
        assert_eq!(table(&of), "| name | n |\n| --- | --: |\n| a\\|b | 1 |\n");
    }
}
