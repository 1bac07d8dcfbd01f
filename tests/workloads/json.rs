//! The JSON workload: 40,000 records parsed into a tree and dropped again, four times.
use std::time::Instant;

/// Runs it and prints the nanoseconds a record took, on the wall clock, as one number.
pub fn main() {
    const RECORDS: u32 = 40_000;
    const ROUNDS: u32 = 4;
    let record = |i: u32| {
        format!(
            r#"{{"id":{i},"name":"sensor {i}","tags":["edge","arm","batch {}"],"position":{{"x":{}.5,"y":-{i}.25}},"ok":{}}}"#,
            i % 7,
            i * 3,
            i.is_multiple_of(2)
        )
    };
    let text = format!("[{}]", (0..RECORDS).map(record).collect::<Vec<_>>().join(","));
    let began = Instant::now();
    for _ in 0..ROUNDS {
        let tree: serde_json::Value = serde_json::from_str(&text).expect("the text is JSON");
        assert_eq!(tree.as_array().map(Vec::len), Some(RECORDS as usize));
    }
    println!("{:.3}", began.elapsed().as_nanos() as f64 / f64::from(RECORDS * ROUNDS));
}
