//! Sizes as people write them: `1GiB`, `512 MiB`, `4096`.

/// The bytes that `text` means; `None` when it is no size. KiB, MiB and GiB are powers of 1,024, KB, MB and GB of 1,000.
/// Allocates nothing.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let units: [(&str, u64); 11] = [
        ("", 1),
        ("b", 1),
        ("k", 1 << 10),
        ("kib", 1 << 10),
        ("m", 1 << 20),
        ("mib", 1 << 20),
        ("g", 1 << 30),
        ("gib", 1 << 30),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
    ];
    let (_, factor) = units.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?;
    if number.contains('.') {
        return number.parse::<f64>().ok().map(|part| (part * factor as f64) as u64);
    }
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes() {
        for (text, bytes) in [("4096", 4096), (" 1GiB", 1 << 30), ("1.5 MiB", 3 << 19), ("2kb", 2_000), ("7 b", 7)] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for text in ["", "GiB", "1 TiB", "-1", "99999999999999999999"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
