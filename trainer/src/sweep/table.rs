//! The records as tables: one row for each run, as CSV and as Parquet with the same columns, and one row for each step as
//! CSV.
use std::sync::Arc;

use alloc_timeline::Category;
use anyhow::{Context, Result};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use trainer_statistics::Summary;

use super::point::{Axis, Point};
use super::record::Record;

type IntegerOf = Box<dyn Fn(&Record) -> Option<u64>>;

/// How a column gets its value from a run. `None` is an empty cell.
enum Get {
    Text(fn(&Record) -> Option<String>),
    Integer(IntegerOf),
    Real(fn(&Record) -> Option<f64>),
}

struct Column {
    name: String,
    get: Get,
}

fn integer(name: &str, get: impl Fn(&Record) -> Option<u64> + 'static) -> Column {
    Column { name: name.to_owned(), get: Get::Integer(Box::new(get)) }
}

fn text(name: &str, get: fn(&Record) -> Option<String>) -> Column {
    Column { name: name.to_owned(), get: Get::Text(get) }
}

fn real(name: &str, get: fn(&Record) -> Option<f64>) -> Column {
    Column { name: name.to_owned(), get: Get::Real(get) }
}

/// The statistics of the steps that do not warm up, in nanoseconds.
fn steady(record: &Record) -> Option<Summary> {
    Summary::of(&record.measured.as_ref()?.steady_ns())
}

/// The columns in their order: the point, how the run ended, times, memory, conditions.
fn columns() -> Vec<Column> {
    let mut all = vec![
        text("model", |record| Some(record.point.model.clone())),
        text("mode", |record| Some(record.point.mode.clone())),
        integer("batch", |record| Some(record.point.batch)),
        integer("image_size", |record| record.point.image_size),
        integer("length", |record| record.point.length),
        text("optimizer", |record| record.point.optimizer.clone()),
        text("precision", |record| Some(record.point.precision.clone())),
        text("allocator", |record| Some(record.point.allocator.clone())),
        integer("threads", |record| Some(record.point.threads)),
        integer("repeat", |record| Some(record.repeat)),
        text("outcome", |record| Some(record.outcome.as_str().to_owned())),
        text("reason", |record| record.reason.clone()),
        integer("steady_steps", |record| Some(record.measured.as_ref()?.steady_ns().len() as u64)),
    ];
    for step in 0..3 {
        all.push(integer(&format!("warm_up_step_{}_ns", step + 1), move |record| {
            let measured = record.measured.as_ref()?;
            measured.step_ns[..measured.warm_up()].get(step).copied()
        }));
    }
    all.extend([
        real("step_ns_min", |record| Some(steady(record)?.min)),
        real("step_ns_q1", |record| Some(steady(record)?.q1)),
        real("step_ns_median", |record| Some(steady(record)?.median)),
        real("step_ns_q3", |record| Some(steady(record)?.q3)),
        real("step_ns_p90", |record| Some(steady(record)?.p90)),
        real("step_ns_max", |record| Some(steady(record)?.max)),
        real("step_ns_mean", |record| Some(steady(record)?.mean)),
        real("step_ns_sd", |record| steady(record)?.sd),
        real("samples_per_second", |record| Some(record.point.batch as f64 * 1e9 / steady(record)?.median)),
        integer("peak_live_bytes", |record| record.measured.as_ref()?.peak_live_bytes),
    ]);
    all.extend(Category::ALL.map(|category| {
        integer(&format!("peak_{category}_bytes"), move |record| {
            let measured = record.measured.as_ref()?;
            measured.peak_live_bytes?;
            Some(measured.peak_by_category.get(category.name()).copied().unwrap_or(0))
        })
    }));
    all.extend([
        integer("peak_rss_bytes", |record| record.measured.as_ref()?.peak_rss_bytes),
        integer("wall_ns", |record| Some(record.wall_ns)),
        integer("started_unix_s", |record| Some(record.started_unix_s)),
        integer("steps", |record| Some(record.conditions.steps)),
        integer("seed", |record| Some(record.conditions.seed)),
        integer("classes", |record| Some(record.conditions.classes)),
        text("data", |record| Some(record.conditions.data.clone())),
        text("commit", |record| record.conditions.commit.clone()),
        text("cpu", |record| record.conditions.cpu.clone()),
        integer("cpus", |record| Some(record.conditions.cpus)),
        integer("memory_bytes", |record| record.conditions.memory_bytes),
        text("kernel", |record| record.conditions.kernel.clone()),
    ]);
    all
}

/// `results.csv`: bytes and nanoseconds, an empty cell where nothing is known.
pub(super) fn results_csv(records: &[Record]) -> Result<Vec<u8>> {
    let columns = columns();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|column| &column.name))?;
    for record in records {
        writer.write_record(columns.iter().map(|column| match &column.get {
            Get::Text(get) => get(record).unwrap_or_default(),
            Get::Integer(get) => get(record).map_or(String::new(), |number| number.to_string()),
            Get::Real(get) => get(record).map_or(String::new(), |number| number.to_string()),
        }))?;
    }
    writer.into_inner().context("a table of text can always be written to memory")
}

/// `results.parquet`: the same columns, each optional.
pub(super) fn results_parquet(records: &[Record]) -> Result<Vec<u8>> {
    let columns = columns();
    let field = |column: &Column| match column.get {
        Get::Text(_) => format!("OPTIONAL BYTE_ARRAY {} (UTF8);", column.name),
        Get::Integer(_) => format!("OPTIONAL INT64 {};", column.name),
        Get::Real(_) => format!("OPTIONAL DOUBLE {};", column.name),
    };
    let fields: Vec<String> = columns.iter().map(field).collect();
    let schema = Arc::new(parse_message_type(&format!("message run {{ {} }}", fields.join(" ")))?);
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(WriterProperties::builder().build()))?;
    let mut group = writer.next_row_group()?;
    for column in &columns {
        write_column(&mut group, column, records)?;
    }
    group.close()?;
    writer.close()?;
    Ok(file)
}

/// Parquet keeps the values that are there, and a level for each row: 1 where there is one.
fn write_column(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    column: &Column,
    records: &[Record],
) -> Result<()> {
    fn split<T>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
        let (mut there, mut levels) = (Vec::new(), Vec::new());
        for value in values {
            levels.push(i16::from(value.is_some()));
            there.extend(value);
        }
        (there, levels)
    }
    let mut writer = group.next_column()?.context("the schema has a column for each of ours")?;
    match (&column.get, writer.untyped()) {
        (Get::Text(get), ColumnWriter::ByteArrayColumnWriter(out)) => {
            let (values, levels) = split(records.iter().map(|record| Some(ByteArray::from(get(record)?.as_str()))));
            out.write_batch(&values, Some(&levels), None)?;
        }
        (Get::Integer(get), ColumnWriter::Int64ColumnWriter(out)) => {
            // Bytes and nanoseconds stay far below 2^63.
            let (values, levels) = split(records.iter().map(|record| i64::try_from(get(record)?).ok()));
            out.write_batch(&values, Some(&levels), None)?;
        }
        (Get::Real(get), ColumnWriter::DoubleColumnWriter(out)) => {
            let (values, levels) = split(records.iter().map(get));
            out.write_batch(&values, Some(&levels), None)?;
        }
        _ => anyhow::bail!("the column {} has another type than its schema says", column.name),
    }
    writer.close()?;
    Ok(())
}

/// The columns of a point, for tables beside the results.
pub(super) fn point_heads() -> Vec<String> {
    Axis::ALL.map(|axis| axis.name().to_owned()).to_vec()
}

/// A point's values on all axes.
pub(super) fn point_cells(point: &Point) -> Vec<String> {
    Axis::ALL.map(|axis| point.on(axis)).to_vec()
}

/// `steps.csv`: every step of every run.
pub(super) fn steps_csv(records: &[Record]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let more = ["repeat", "step", "warms_up", "step_ns"].map(str::to_owned);
    writer.write_record(point_heads().into_iter().chain(more))?;
    for record in records {
        let Some(measured) = &record.measured else { continue };
        for (step, ns) in measured.step_ns.iter().enumerate() {
            let warms_up = step < measured.warm_up();
            let cells = [record.repeat.to_string(), (step + 1).to_string(), warms_up.to_string(), ns.to_string()];
            writer.write_record(point_cells(&record.point).into_iter().chain(cells))?;
        }
    }
    writer.into_inner().context("a table of text can always be written to memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::record::Outcome;
    use crate::sweep::{point, record};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    /// A run of five steps, of which 40 and 20 count, and one that failed.
    fn records() -> [Record; 2] {
        let done = record::example(point::example("lenet5", 4), 1, &[90, 80, 70, 40, 20]);
        let failed = Record {
            outcome: Outcome::Failed,
            reason: Some("no, \"memory\"".to_owned()),
            measured: None,
            ..record::example(point::example("resnet18", 4), 1, &[])
        };
        [done, failed]
    }

    fn cells(table: &[u8], row: usize) -> std::collections::BTreeMap<String, String> {
        let mut reader = csv::Reader::from_reader(table);
        let heads = reader.headers().expect("a head").clone();
        let row = reader.records().nth(row).expect("a row").expect("whole");
        heads.iter().zip(row.iter()).map(|(head, cell)| (head.to_owned(), cell.to_owned())).collect()
    }

    #[test]
    fn a_row_for_each_run() {
        let table = results_csv(&records()).expect("written");
        let done = cells(&table, 0);
        assert_eq!((done["warm_up_step_3_ns"].as_str(), done["step_ns_median"].as_str()), ("70", "30"));
        assert_eq!(done["steady_steps"], "2");
        assert_eq!((done["peak_live_bytes"].as_str(), done["peak_activation_bytes"].as_str()), ("3145728", "2097152"));
        assert_eq!(done["peak_workspace_bytes"], "0", "nothing of a known peak is none, and not unknown");
        let failed = cells(&table, 1);
        assert_eq!((failed["outcome"].as_str(), failed["reason"].as_str()), ("failed", "no, \"memory\""));
        assert_eq!((failed["step_ns_median"].as_str(), failed["peak_workspace_bytes"].as_str()), ("", ""));
    }

    #[test]
    fn parquet_holds_what_csv_holds() {
        let (records, expected) = (records(), results_csv(&records()).expect("written"));
        let mut file = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut file, &results_parquet(&records).expect("written")).expect("written");
        let reader = SerializedFileReader::new(file).expect("a file of Parquet");
        let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
        assert_eq!(rows.len(), 2);
        for (index, row) in rows.iter().enumerate() {
            let text = cells(&expected, index);
            assert_eq!(row.len(), text.len());
            for (name, field) in row.get_column_iter() {
                let read = match field {
                    parquet::record::Field::Null => String::new(),
                    parquet::record::Field::Str(text) => text.clone(),
                    parquet::record::Field::Long(number) => number.to_string(),
                    parquet::record::Field::Double(number) => number.to_string(),
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!(read, text[name], "{name}");
            }
        }
        assert_eq!(rows[0].get_string(0).expect("a model"), "lenet5");
    }

    #[test]
    fn a_row_for_each_step() {
        let table = steps_csv(&records()).expect("written");
        let fourth = cells(&table, 3);
        assert_eq!(
            (fourth["step"].as_str(), fourth["warms_up"].as_str(), fourth["step_ns"].as_str()),
            ("4", "false", "40")
        );
        assert_eq!(csv::Reader::from_reader(&table[..]).records().count(), 5);
    }
}
