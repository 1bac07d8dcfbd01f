//! How much growth is allowed.
use std::str::FromStr;

use alloc_timeline::size;

use crate::model::exact;

/// A number of bytes, or a share of what the baseline held under the same name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// So many bytes.
    Bytes(u64),
    /// So many per cent of the baseline's bytes. Of a name that the baseline does not have, that is nothing.
    Percent(f64),
}

impl Limit {
    /// The bytes by which something that held `before` may grow.
    pub fn allows(&self, before: u64) -> u64 {
        match self {
            Limit::Bytes(bytes) => *bytes,
            Limit::Percent(percent) => (before as f64 * percent / 100.0) as u64,
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Bytes(bytes) => write!(f, "{} bytes", exact(*bytes)),
            Limit::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("'{text}' is no limit: write bytes (4096), bytes with a unit (64KiB, 1.5MiB) or per cent (1%)");
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            let digits = percent.trim();
            let plain = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
            let value = digits.parse::<f64>().ok().filter(|value| plain && value.is_finite());
            return value.map(Limit::Percent).ok_or_else(wrong);
        }
        // A fraction without a unit is no fraction of a byte: its unit or its per cent sign is missing.
        if text.contains('.') && text.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Err(wrong());
        }
        size::parse(text).map(Limit::Bytes).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_bytes_units_or_per_cent() {
        assert_eq!("4096".parse(), Ok(Limit::Bytes(4096)));
        assert_eq!("64KiB".parse(), Ok(Limit::Bytes(65_536)));
        assert_eq!("1.5 MiB".parse(), Ok(Limit::Bytes(1_572_864)));
        assert_eq!("12B".parse(), Ok(Limit::Bytes(12)));
        assert_eq!("1KB".parse(), Ok(Limit::Bytes(1_000)), "as in the environment");
        assert_eq!("2 gib".parse(), Ok(Limit::Bytes(2 << 30)));
        assert_eq!("1%".parse(), Ok(Limit::Percent(1.0)));
        for wrong in ["", "x", "-1", "1.5", "%", "inf%", "1e3KiB", "-2%", "1PB", "99999999999GiB"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn per_cent_is_of_what_was_there_before() {
        assert_eq!(Limit::Percent(1.0).allows(1000), 10);
        assert_eq!(Limit::Percent(1.0).allows(0), 0);
        assert_eq!(Limit::Bytes(5).allows(0), 5);
    }
}
