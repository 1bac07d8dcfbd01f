//! The series as a table with the columns `time_ns,dimension,name,bytes`: one row for each instant, dimension and name.
//!
//! | `dimension` | rows |
//! |---|---|
//! | `phase`, `layer`, `op`, `category` | the live bytes of one name. Those of one instant sum to its live bytes; 0 is left out |
//! | `total` | `live`, `requested` and `high`, the most live bytes since the instant before |
//! | `probe` | what a probe read, in the unit that its name ends in, bytes otherwise. Failed readings are left out |
use std::fmt::Write;

use alloc_timeline::{Dimension, Timeline};

/// The table, with its header.
pub fn csv(timeline: &Timeline) -> String {
    let series = &timeline.series;
    let mut out = String::from("time_ns,dimension,name,bytes\n");
    let mut row = |time_ns: u64, dimension: &str, name: &str, bytes: u64| {
        // Writing into a String cannot fail.
        let _ = writeln!(out, "{time_ns},{dimension},{},{bytes}", quoted(name));
    };
    for (index, time_ns) in series.time_ns.iter().enumerate() {
        row(*time_ns, "total", "live", series.live_bytes[index]);
        row(*time_ns, "total", "requested", series.requested_bytes[index]);
        row(*time_ns, "total", "high", series.high_bytes[index]);
        for dimension in Dimension::ALL {
            for (name, column) in series.by(dimension).iter().filter(|(_, column)| column[index] > 0) {
                row(*time_ns, dimension.name(), name, column[index]);
            }
        }
        for (name, column) in &series.probes {
            if let Some(bytes) = column[index] {
                row(*time_ns, "probe", name, bytes);
            }
        }
    }
    out
}

/// A field, quoted by the rules of RFC 4180.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn the_rows_of_an_instant_sum_to_its_live_bytes() {
        let text = csv(&tiny());
        for dimension in Dimension::ALL {
            let sum: u64 = text
                .lines()
                .map(|line| line.split(',').collect::<Vec<_>>())
                .filter(|row| row[0] == "3500000" && row[1] == dimension.name())
                .map(|row| row[3].parse::<u64>().unwrap())
                .sum();
            assert_eq!(sum, 14_976, "{dimension}");
        }
        assert!(text.contains("\n3500000,total,live,14976\n") && text.contains("\n3500000,probe,rss,19072\n"));
    }

    #[test]
    fn fields_with_commas_are_quoted() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("conv1"), "conv1");
    }
}
