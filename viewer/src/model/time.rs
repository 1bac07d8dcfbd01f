//! How dates and durations are written, and how durations are read.

/// Nanoseconds in the unit that keeps the text short: `850 ns`, `12.3 ms`, `4.57 s`, `2 min 05 s`. What would be rounded to a thousand of a
/// unit has the next one.
pub fn time(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match ns {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..999_950 => format!("{:.1} us", ns as f64 / 1e3),
        999_950..999_950_000 => format!("{:.1} ms", ns as f64 / 1e6),
        999_950_000..119_995_000_000 => format!("{seconds:.2} s"),
        _ => {
            let whole = if ns < 120_000_000_000 { 120 } else { ns / 1_000_000_000 };
            format!("{} min {:02} s", whole / 60, whole % 60)
        }
    }
}

/// The nanoseconds of a duration as people type it (`1.5s`, `300ms`, `2m 5s`) and as [`time`] writes it. `None` for a
/// text without a unit, for a negative duration, and for what is no duration.
pub fn parse_time(text: &str) -> Option<u64> {
    let duration: jiff::SignedDuration = text.trim().parse().ok()?;
    u64::try_from(duration.as_nanos()).ok()
}

/// Nanoseconds since 1970 as a date: `2025-10-09 08:53:20 UTC`.
pub fn date(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // A u64 of nanoseconds ends in the year 2554.
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", days + 1)
}

#[cfg(test)]
mod tests {
    use super::{date, parse_time, time};

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(1_709_208_000_000_000_000), "2024-02-29 12:00:00 UTC");
        assert_eq!(date(1_767_225_599_000_000_000), "2025-12-31 23:59:59 UTC");
        assert_eq!(date(u64::MAX), "2554-07-21 23:34:33 UTC");
    }

    #[test]
    fn times_are_short_at_every_scale() {
        let cases = [
            (0, "0 s"),
            (850, "850 ns"),
            (12_300_000, "12.3 ms"),
            (4_567_000_000, "4.57 s"),
            (999_949, "999.9 us"),
            (999_950, "1.0 ms"),
            (999_960_000, "1.00 s"),
            (119_994_999_999, "119.99 s"),
            (119_995_000_000, "2 min 00 s"),
            (125_900_000_000, "2 min 05 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn a_time_is_read_as_people_type_it() {
        let cases = [
            ("1.5s", Some(1_500_000_000)),
            ("300ms", Some(300_000_000)),
            (" 97.8 ms ", Some(97_800_000)),
            ("2m 5s", Some(125_000_000_000)),
            ("0s", Some(0)),
            ("1.5", None),
            ("-1s", None),
            ("s", None),
            ("forward", None),
            ("", None),
            ("9999999999999999 s", None),
        ];
        for (text, ns) in cases {
            assert_eq!(parse_time(text), ns, "{text}");
        }
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        for ns in [0, 850, 12_300, 12_300_000, 4_570_000_000, 125_000_000_000] {
            assert_eq!(parse_time(&time(ns)), Some(ns), "{}", time(ns));
        }
    }
}
