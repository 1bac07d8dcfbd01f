//! Energy in words.

/// Microjoules in the unit that keeps the text short.
pub(in crate::view) fn joules(uj: u64) -> String {
    let joules = uj as f64 / 1e6;
    if joules < 1.0 { format!("{:.2} mJ", uj as f64 / 1e3) } else { format!("{joules:.2} J") }
}
