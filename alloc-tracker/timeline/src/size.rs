//! Sizes as people type them, in environment variables, flags and limits: `4096`, `512 MiB`, `1.5GB`.
//!
//! The tracker reads its settings at the first allocation of a process, from inside the allocator. So nothing here
//! allocates or panics. The crate `parse-size` is no help: it cannot take `1k` as 1,024 and `1KB` as 1,000 bytes.

/// The units and their bytes. Letter case does not matter.
const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
];

/// Why a text is no size. The message says what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// It does not begin with a number, or its number has two points.
    #[error("no number stands at its beginning; write bytes (4096) or a number with a unit (64KiB, 1.5 MiB, 2GB)")]
    NoNumber,
    /// Something that is no unit follows the number.
    #[error(
        "its unit is not known; write B, KiB, MiB, GiB or TiB (powers of 1024), or KB, MB, GB or TB (powers of 1000)"
    )]
    UnknownUnit,
    /// It is 2^64 bytes or more.
    #[error("it is too large; write less than 16777216 TiB")]
    TooLarge,
}

/// The bytes that `text` means.
///
/// A size is a number, which may have a fraction, and a unit. KiB, MiB, GiB and TiB are powers of 1,024, and so are the
/// bare letters k, m, g and t. KB, MB, GB and TB are powers of 1,000. A number without a unit counts bytes. Blanks around
/// the number and the unit do not matter, nor does letter case. A fraction of a byte is cut off.
///
/// Allocates nothing and does not panic, so that an allocator may call it.
///
/// # Errors
/// When `text` is no size, or one of 2^64 bytes or more.
///
/// ```
/// use alloc_timeline::size::{self, SizeError};
///
/// assert_eq!(size::parse("1.5 MiB"), Ok(1_572_864));
/// assert_eq!(size::parse("2KB"), Ok(2_000));
/// assert_eq!(size::parse("much"), Err(SizeError::NoNumber));
/// ```
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if number.is_empty() {
        return Err(SizeError::NoNumber);
    }
    let unit = unit.trim_start();
    let known = UNITS.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let (_, unit_bytes) = known.ok_or(SizeError::UnknownUnit)?;
    if number.contains('.') {
        let count: f64 = number.parse().map_err(|_| SizeError::NoNumber)?;
        let bytes = count * unit_bytes as f64;
        return if bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(SizeError::TooLarge) };
    }
    // Digits alone: the one thing that can be wrong with them is that they are too many.
    let count: u64 = number.parse().map_err(|_| SizeError::TooLarge)?;
    count.checked_mul(unit_bytes).ok_or(SizeError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("4096", 4096),
            (" 1GiB", 1 << 30),
            ("1.5 MiB", 3 << 19),
            ("2kb", 2_000),
            ("7 b", 7),
            ("1k", 1 << 10),
            ("1K ", 1 << 10),
            ("3m", 3 << 20),
            ("1 TiB", 1 << 40),
            ("1TB", 1_000_000_000_000),
            (".5KiB", 512),
            ("2.", 2),
            ("1.9", 1),
            ("0", 0),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_said_to_be_what_it_is() {
        for (text, error) in [
            ("", SizeError::NoNumber),
            ("  ", SizeError::NoNumber),
            ("GiB", SizeError::NoNumber),
            ("-1", SizeError::NoNumber),
            ("+1", SizeError::NoNumber),
            (".", SizeError::NoNumber),
            ("1.2.3", SizeError::NoNumber),
            ("inf", SizeError::NoNumber),
            ("1 PiB", SizeError::UnknownUnit),
            ("1e3", SizeError::UnknownUnit),
            ("1 µB", SizeError::UnknownUnit),
            ("1 2", SizeError::UnknownUnit),
            ("99999999999999999999", SizeError::TooLarge),
            ("99999999999999999999.0", SizeError::TooLarge),
            ("16777216 TiB", SizeError::TooLarge),
            ("16777216.0 TiB", SizeError::TooLarge),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        for error in [SizeError::NoNumber, SizeError::UnknownUnit, SizeError::TooLarge] {
            assert!(error.to_string().contains("write "), "{error}");
        }
    }
}
