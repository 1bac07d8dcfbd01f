//! What the programs share: `PEER churn PAIRS THREADS` and `PEER json ROUNDS`, as the programs of `tests/workloads`.

#[path = "../../workloads/churn.rs"]
mod churn;
#[path = "../../workloads/json.rs"]
mod json;
#[path = "../../workloads/stopwatch.rs"]
mod stopwatch;

/// Runs the workload that the first argument names, with the arguments behind it.
///
/// # Panics
/// When there is no such workload.
pub fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("churn") => churn::run::<churn::Rust>(arguments),
        Some("json") => json::run(arguments),
        other => panic!("churn or json, not {other:?}"),
    }
}
