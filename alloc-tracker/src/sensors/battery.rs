//! The power that a battery gives: /sys/class/power_supply/* (the kernel's ABI documentation, sysfs-class-power).
use std::path::Path;

use super::file::{NumberFile, entries, last_part, word};
use super::reading::Reading;
use super::source::{About, Kind, Source};

/// The batteries under `root`, and a sentence for each that cannot be read.
///
/// # Errors
/// A sentence on why there is none.
pub fn find(root: &Path) -> Result<(Vec<Source>, Vec<String>), String> {
    let folder = root.join("sys/class/power_supply");
    let supplies = entries(&folder, "");
    let batteries: Vec<_> =
        supplies.iter().filter(|supply| word(&supply.join("type")).as_deref() == Some("Battery")).collect();
    if batteries.is_empty() {
        return Err(format!("{} has no battery", folder.display()));
    }
    let (mut sources, mut problems) = (Vec::new(), Vec::new());
    for battery in batteries {
        match power(battery) {
            Err(reason) => problems.push(format!("{}: {reason}", last_part(battery))),
            Ok(mut power) => {
                let about = About {
                    name: last_part(battery),
                    kind: Kind::Battery,
                    part_of: None,
                    origin: battery.display().to_string(),
                };
                let status = battery.join("status");
                sources.push(Source::single(about, move || {
                    match word(&status).as_deref() {
                        Some("Discharging") => power().map(Reading::PowerUw),
                        // What flows into a battery says nothing of what the machine uses.
                        other => Err(format!("{}: {}", status.display(), other.unwrap_or("cannot be read"))),
                    }
                }));
            }
        }
    }
    Ok((sources, problems))
}

/// A function that reads the power, in microwatts: as it stands, or as voltage times current.
fn power(battery: &Path) -> Result<Box<dyn FnMut() -> Result<u64, String> + Send>, String> {
    let file = |name: &str| NumberFile::open(battery.join(name));
    if let Ok(power) = file("power_now") {
        // Some drivers count what leaves the battery as negative.
        return Ok(Box::new(move || power.read().map(i64::unsigned_abs)));
    }
    let (voltage, current) = (file("voltage_now")?, file("current_now")?);
    Ok(Box::new(move || {
        let microwatts = u128::from(voltage.read_positive()?) * u128::from(current.read()?.unsigned_abs()) / 1_000_000;
        Ok(u64::try_from(microwatts).unwrap_or(u64::MAX))
    }))
}
