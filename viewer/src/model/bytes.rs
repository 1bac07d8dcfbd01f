//! How byte counts are written: exact with separators, or rounded with a binary unit.

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name, for example `MiB`.
    pub name: &'static str,
    /// The number of bytes in one unit.
    pub bytes: u64,
}

impl Unit {
    /// The unit in which an axis up to `most` bytes reads best. GiB begins only at 8 GiB, so that most pictures agree on
    /// MiB.
    pub fn for_axis(most: u64) -> Unit {
        match most {
            0..10_240 => Unit { name: "B", bytes: 1 },
            10_240..2_097_152 => Unit { name: "KiB", bytes: KIB },
            _ if most < 8 * GIB => Unit { name: "MiB", bytes: MIB },
            _ => Unit { name: "GiB", bytes: GIB },
        }
    }
}

/// The exact number with separators: `1,434,217,984`.
pub fn exact(bytes: u64) -> String {
    separated(&bytes.to_string())
}

/// The exact difference, with a sign unless it is 0: `+4,096`, `-12`, `0`.
pub fn exact_change(bytes: i128) -> String {
    format!("{}{}", sign(bytes), separated(&bytes.unsigned_abs().to_string()))
}

/// A rounded size: `1,304.7 MiB`, `12.3 KiB`, `512 B`. MiB is the largest unit, so that the numbers of one table can be
/// compared at a glance.
pub fn size(bytes: u64) -> String {
    if bytes < KIB {
        return format!("{bytes} B");
    }
    // A size that would round up to 1,024.0 KiB is written as 1.0 MiB.
    let (unit, name) = if bytes < MIB - KIB / 20 { (KIB, "KiB") } else { (MIB, "MiB") };
    format!("{} {name}", decimal(bytes as f64 / unit as f64))
}

/// A rounded difference with its sign: `+486.1 MiB`, `-4.0 KiB`, `0 B`.
pub fn change(bytes: i128) -> String {
    format!("{}{}", sign(bytes), size(u64::try_from(bytes.unsigned_abs()).unwrap_or(u64::MAX)))
}

/// The sign in front of a difference.
fn sign(bytes: i128) -> &'static str {
    match bytes {
        0 => "",
        1.. => "+",
        _ => "-",
    }
}

/// `part` of `whole` in per cent with one decimal: `61.3 %`. A part above 0 that would round to 0.0 is `<0.1 %`.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    if part > 0 && percent < 0.05 { "<0.1 %".to_owned() } else { format!("{percent:.1} %") }
}

/// `value` with one decimal, and with separators in front of the decimal point.
fn decimal(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", separated(whole)),
        None => separated(&text),
    }
}

/// Puts a comma before each group of three digits.
fn separated(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_have_separators() {
        assert_eq!(exact(0), "0");
        assert_eq!(exact(999), "999");
        assert_eq!(exact(1_434_217_984), "1,434,217,984");
        assert_eq!(exact_change(-1024), "-1,024");
        assert_eq!(exact_change(7), "+7");
        assert_eq!(exact_change(0), "0");
    }

    #[test]
    fn sizes_are_rounded_to_one_decimal_of_a_binary_unit() {
        assert_eq!(size(1023), "1,023 B".replace(',', ""));
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1536), "1.5 KiB");
        // 1 MiB less a byte would otherwise read "1,024.0 KiB".
        assert_eq!(size(MIB - 1), "1.0 MiB");
        assert_eq!(size(1_434_451_968), "1,368.0 MiB");
        assert_eq!(change(-(4 << 10)), "-4.0 KiB");
        assert_eq!(change(0), "0 B");
    }

    #[test]
    fn a_small_share_is_not_written_as_nothing() {
        assert_eq!(share(1, 2), "50.0 %");
        assert_eq!(share(0, 10), "0.0 %");
        assert_eq!(share(1, 1_000_000), "<0.1 %");
        assert_eq!(share(0, 0), "-");
    }

    #[test]
    fn axes_use_the_unit_that_keeps_numbers_short() {
        assert_eq!(Unit::for_axis(500).name, "B");
        assert_eq!(Unit::for_axis(64 * KIB).name, "KiB");
        assert_eq!(Unit::for_axis(1400 * MIB).name, "MiB");
        assert_eq!(Unit::for_axis(20 * GIB).name, "GiB");
    }
}
