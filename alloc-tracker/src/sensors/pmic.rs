//! The text of `vcgencmd pmic_read_adc`, by which a Raspberry Pi 5 tells the voltage and current of its rails.
//!
//! ```text
//!  VDD_CORE_A current(7)=0.81262990A
//!  VDD_CORE_V volt(15)=0.88187950V
//!     EXT5V_V volt(24)=5.15766000V      no current is known of this one
//! ```

/// One rail of the board's power chip whose voltage and current are both known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PmicRail {
    /// `VDD_CORE`, `3V3_SYS`, ...
    pub name: String,
    /// Power in microwatts.
    pub uw: u64,
}

/// The rails in the text. A rail of which only one of the two is told is left out.
pub fn pmic_rails(text: &str) -> Vec<PmicRail> {
    let currents = text.lines().filter_map(|line| value(line, "_A", "current(", 'A'));
    let volts: Vec<(&str, f64)> = text.lines().filter_map(|line| value(line, "_V", "volt(", 'V')).collect();
    let rail = |(name, amperes): (&str, f64)| {
        let (_, volts) = volts.iter().find(|(other, _)| *other == name)?;
        Some(PmicRail { name: name.to_owned(), uw: (volts * amperes * 1e6).round() as u64 })
    };
    currents.filter_map(rail).collect()
}

/// The rail's name and the number in a line such as `VDD_CORE_V volt(15)=0.88V`.
fn value<'a>(line: &'a str, suffix: &str, quantity: &str, unit: char) -> Option<(&'a str, f64)> {
    let (name, rest) = line.trim().split_once(' ')?;
    let (_, number) = rest.trim().strip_prefix(quantity)?.split_once(")=")?;
    let number: f64 = number.strip_suffix(unit)?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some((name.strip_suffix(suffix)?, number))
}
