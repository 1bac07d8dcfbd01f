//! The JSON workload: 40,000 records parsed into a tree and dropped again, four times.
use super::stopwatch::Stopwatch;

/// Runs the workload for the argument `ROUNDS` and prints the nanoseconds a record took.
pub fn run(mut arguments: impl Iterator<Item = String>) {
    const RECORDS: u32 = 40_000;
    let rounds = arguments.next().map_or(4, |word| word.parse::<u32>().expect("a number"));
    let record = |i: u32| {
        format!(
            r#"{{"id":{i},"name":"sensor {i}","tags":["edge","arm","batch {}"],"position":{{"x":{}.5,"y":-{i}.25}},"ok":{}}}"#,
            i % 7,
            i * 3,
            i.is_multiple_of(2)
        )
    };
    let text = format!("[{}]", (0..RECORDS).map(record).collect::<Vec<_>>().join(","));
    let watch = Stopwatch::start();
    for _ in 0..rounds {
        let tree: serde_json::Value = serde_json::from_str(&text).expect("the text is JSON");
        assert_eq!(tree.as_array().map(Vec::len), Some(RECORDS as usize));
    }
    watch.print(u64::from(RECORDS * rounds));
}
