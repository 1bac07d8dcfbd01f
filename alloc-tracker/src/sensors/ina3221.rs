//! The INA3221 power monitors of Jetson boards, three channels each.
//!
//! ```text
//! /sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3/in1_label, in1_input (mV), curr1_input (mA)         JetPack 5, 6
//! /sys/bus/i2c/drivers/ina3221x/0-0041/iio:device1/rail_name_0, in_power0_input (mW)                  JetPack 4, TX2
//! ```
use std::path::{Path, PathBuf};

use super::file::{NumberFile, entries, word};
use super::reading::Reading;
use super::source::{About, Kind, Source};

/// Rails that feed the whole module.
const WHOLE: [&str; 2] = ["VDD_IN", "POM_5V_IN"];
/// On the AGX Orin there is no such rail; there the memory's rail hangs on the 5 V supply of the module.
const WITHIN: [(&str, &str); 1] = [("VDDQ_VDD2_1V8AO", "VIN_SYS_5V0")];

/// One channel that is connected.
struct Channel {
    name: String,
    origin: PathBuf,
    read: Box<dyn FnMut() -> Result<u64, String> + Send>,
}

/// The rails under `root`, and a sentence for each that cannot be read.
///
/// # Errors
/// A sentence on why there is none.
pub fn find(root: &Path) -> Result<(Vec<Source>, Vec<String>), String> {
    let drivers = entries(&root.join("sys/bus/i2c/drivers"), "ina3221");
    let chips: Vec<PathBuf> = drivers.iter().flat_map(|driver| entries(driver, "")).collect();
    let (mut channels, mut problems) = (Vec::new(), Vec::new());
    for chip in &chips {
        let folders = entries(&chip.join("hwmon"), "hwmon").into_iter().map(|folder| (folder, true));
        let older = entries(chip, "iio:device").into_iter().map(|folder| (folder, false));
        for (folder, is_hwmon) in folders.chain(older) {
            for number in 0..=3 {
                let channel = if is_hwmon { hwmon(&folder, number) } else { iio(&folder, number) };
                match channel {
                    Some(Ok(channel)) => channels.push(channel),
                    Some(Err(problem)) => problems.push(problem),
                    None => {}
                }
            }
        }
    }
    if channels.is_empty() && problems.is_empty() {
        return Err(format!("{} has no INA3221", root.join("sys/bus/i2c/drivers").display()));
    }
    let names: Vec<String> = channels.iter().map(|channel| channel.name.clone()).collect();
    let sources = channels.into_iter().map(|channel| source(channel, &names)).collect();
    Ok((sources, problems))
}

/// The rail that feeds the rail `name` as well, where the board has one.
pub fn feeding(name: &str, names: &[String]) -> Option<String> {
    let has = |wanted: &str| names.iter().any(|name| name == wanted).then(|| wanted.to_owned());
    let within = WITHIN.iter().find(|(part, _)| *part == name).and_then(|(_, whole)| has(whole));
    within.or_else(|| WHOLE.into_iter().find_map(has).filter(|whole| whole != name))
}

fn source(channel: Channel, names: &[String]) -> Source {
    let Channel { name, origin, mut read } = channel;
    let part_of = feeding(&name, names);
    let about = About { name, kind: Kind::Ina3221, part_of, origin: origin.display().to_string() };
    Source::single(about, move || read().map(Reading::PowerUw))
}

/// A channel of the kernel's own driver. `None` where nothing is connected (`NC`).
fn hwmon(folder: &Path, number: u32) -> Option<Result<Channel, String>> {
    let name = word(&folder.join(format!("in{number}_label"))).filter(|name| !name.starts_with("NC"))?;
    let open = |file: String| NumberFile::open(folder.join(file));
    let files = open(format!("in{number}_input")).and_then(|volts| Ok((volts, open(format!("curr{number}_input"))?)));
    let channel = |(millivolts, milliamperes): (NumberFile, NumberFile)| {
        let read = move || Ok(millivolts.read_positive()?.saturating_mul(positive_part(milliamperes.read()?)));
        Channel { name: name.clone(), origin: folder.join(format!("in{number}_input")), read: Box::new(read) }
    };
    Some(files.map(channel).map_err(|reason| format!("{name}: {reason}")))
}

/// A channel of NVIDIA's older driver.
fn iio(folder: &Path, number: u32) -> Option<Result<Channel, String>> {
    let name = word(&folder.join(format!("rail_name_{number}"))).filter(|name| !name.starts_with("NC"))?;
    let path = folder.join(format!("in_power{number}_input"));
    let channel = |milliwatts: NumberFile| {
        let read = move || Ok(positive_part(milliwatts.read()?).saturating_mul(1_000));
        Channel { name: name.clone(), origin: path.clone(), read: Box::new(read) }
    };
    Some(NumberFile::open(path.clone()).map(channel).map_err(|reason| format!("{name}: {reason}")))
}

/// A rail that carries nothing may show a little less than nothing.
fn positive_part(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
