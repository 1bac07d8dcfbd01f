//! Self times in words.
use crate::analysis::TimeBasis;

/// What the times of a table are of, as a part of a sentence.
pub(in crate::view) fn basis_words(basis: &TimeBasis) -> String {
    match (basis.steps, basis.first_step, basis.last_step) {
        (0, ..) => "of the whole recording".to_owned(),
        (1, first, _) => format!("of step {first}"),
        (steps, first, last) if steps == last - first + 1 => format!("a step, the mean of steps {first} to {last}"),
        (steps, first, last) => format!("a step, the mean of {steps} of steps {first} to {last}"),
    }
}

/// Milliseconds of a step; of the whole recording where there is no step.
pub(in crate::view) fn milliseconds(basis: &TimeBasis, sum_ns: u64) -> String {
    format!("{:.2}", basis.a_step(sum_ns) / 1e6)
}
