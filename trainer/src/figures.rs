//! How the reports of this program write bytes, times and tables.
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// Lines below the head and at the end, and none between rows or columns.
const STYLE: TableStyle = TableStyle::new()
    .header_separator(LineStyle::none().fill('\u{2500}').junction('\u{2500}'))
    .bottom_border(LineStyle::none().fill('\u{2500}').junction('\u{2500}'));

/// `512.0 MiB`; MiB at every size, so that the numbers of one table can be compared at a glance.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// `1.235 s`.
pub(crate) fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

/// `12.3 ms`.
pub(crate) fn milliseconds(ns: u64) -> String {
    format!("{:.1} ms", ns as f64 / 1e6)
}

/// A table with these column heads as text. A head that begins with `>` belongs to a column aligned to the right.
pub(crate) fn table<S: AsRef<str>>(heads: &[S], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads.iter().map(|head| Cell::new(head.as_ref().trim_start_matches('>'))));
    table.add_rows(rows);
    for (index, head) in heads.iter().enumerate() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, 2));
            if head.as_ref().starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

/// The median as a whole number, rounded up where it lies half-way between two; 0 of none.
pub(crate) fn median(values: &[u64]) -> u64 {
    let values: Vec<f64> = values.iter().map(|&value| value as f64).collect();
    // NaN, the median of nothing, becomes 0.
    trainer_statistics::median(&values).round() as u64
}

/// The median of the steps without the first, which warms up; a lone step itself.
pub(crate) fn typical_step(steps: &[u64]) -> u64 {
    median(if steps.len() > 1 { &steps[1..] } else { steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_their_unit() {
        assert_eq!(mib(3 << 19), "1.5 MiB");
        assert_eq!((seconds(1_234_567_890), milliseconds(12_340_000)), ("1.235 s".to_owned(), "12.3 ms".to_owned()));
        assert_eq!((median(&[3, 1, 2]), median(&[4, 1, 2, 3]), median(&[])), (2, 3, 0));
    }

    #[test]
    fn the_first_step_warms_up() {
        assert_eq!(typical_step(&[900, 30, 10, 20]), 20, "the median of 10, 20, 30");
        assert_eq!(typical_step(&[900]), 900);
        assert_eq!(typical_step(&[]), 0);
    }

    #[test]
    fn columns_line_up() {
        let text = table(&["name", ">bytes"], [["a", "5"], ["bb", "10"]].map(|row| row.map(str::to_owned).to_vec()));
        assert_eq!(text.lines().skip(2).take(2).collect::<Vec<_>>(), ["a          5", "bb        10"], "{text}");
    }
}
