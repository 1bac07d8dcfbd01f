//! What entering and leaving a span takes: with the registry alone, and with scopes.
//!
//! ```sh
//! cargo run --release -p alloc-tracing --example span_cost
//! ```
use std::hint::black_box;
use std::time::Instant;

use tracing_subscriber::prelude::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const ROUNDS: usize = 15;
const ENTRIES: u32 = 200_000;

/// Nanoseconds of each: entering and leaving a span, making one, entering and leaving it.
fn pair() -> [f64; 2] {
    let span = tracing::info_span!("conv1");
    let each = |work: &dyn Fn()| {
        let began = Instant::now();
        for _ in 0..ENTRIES {
            work();
        }
        began.elapsed().as_nanos() as f64 / f64::from(ENTRIES)
    };
    let entered = || drop(black_box(span.enter()));
    let made = || drop(black_box(tracing::info_span!("conv1").entered()));
    [each(&entered), each(&made)]
}

/// The least, the median and the most.
fn spread(mut of: Vec<f64>) -> String {
    of.sort_by(f64::total_cmp);
    format!("{:6.0} ns ({:.0} to {:.0})", of[of.len() / 2], of[0], of[of.len() - 1])
}

fn main() {
    let mut rounds = [(); 4].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        let alone = tracing::subscriber::with_default(tracing_subscriber::registry(), pair);
        let with = tracing_subscriber::registry().with(alloc_tracing::scopes());
        let with = tracing::subscriber::with_default(with, pair);
        for (all, one) in rounds.iter_mut().zip([alone[0], with[0], alone[1], with[1]]) {
            all.push(one);
        }
    }
    let names = [
        "entered, registry alone",
        "entered, with scopes",
        "made and entered, registry alone",
        "made and entered, with scopes",
    ];
    for (name, round) in names.into_iter().zip(rounds) {
        println!("{name:32} {}", spread(round));
    }
}
