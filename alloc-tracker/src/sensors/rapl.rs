//! Energy counters of x86 processors: /sys/class/powercap/intel-rapl:* (the kernel's power/powercap documentation).
//!
//! ```text
//! intel-rapl:0        package-0      the whole socket
//! intel-rapl:0:0      core           a part of it
//! intel-rapl:0:1      dram           memory, beside the package; measured apart from it
//! intel-rapl:1        psys           the whole platform, on some laptops; it has the packages in it
//! ```
//! AMD's processors have the same files. Since 2020 only root may read the counters.
use std::path::Path;

use super::file::{NumberFile, entries, last_part, word};
use super::reading::Reading;
use super::source::{About, Kind, Source};

/// The zones under `root`, and a sentence for each that cannot be read.
///
/// # Errors
/// A sentence on why there is none.
pub fn find(root: &Path) -> Result<(Vec<Source>, Vec<String>), String> {
    let folder = root.join("sys/class/powercap");
    let zones = entries(&folder, "intel-rapl:");
    if zones.is_empty() {
        return Err(format!(
            "{} has no zone intel-rapl: as in most virtual machines, and on processors other than x86",
            folder.display()
        ));
    }
    let name_of = |zone: &Path| word(&zone.join("name")).unwrap_or_else(|| last_part(zone));
    let platform = zones.iter().map(|zone| name_of(zone)).find(|name| name == "psys");
    let (mut sources, mut problems) = (Vec::new(), Vec::new());
    for zone in &zones {
        let name = name_of(zone);
        let path = zone.join("energy_uj");
        let file = match NumberFile::open(path.clone()) {
            Ok(file) => file,
            Err(reason) => {
                problems.push(format!("{name}: {reason}"));
                continue;
            }
        };
        let range = word(&zone.join("max_energy_range_uj")).and_then(|range| range.parse().ok()).unwrap_or(0);
        // `intel-rapl:0:1` lies in `intel-rapl:0`, and that in `intel-rapl`, which measures nothing.
        let outer = last_part(zone).rsplit_once(':').map(|(outer, _)| folder.join(outer));
        let outer = outer.filter(|outer| zones.contains(outer));
        let package = outer.map(|outer| name_of(&outer));
        // Two sockets have a zone `core` each.
        let full = package.as_ref().map_or(name.clone(), |package| format!("{package}/{name}"));
        let part_of = match name.as_str() {
            // The package's counter has no memory in it; the platform's has.
            "dram" => platform.clone(),
            "psys" => None,
            _ => package.or(platform.clone()),
        };
        let about = About { name: full, kind: Kind::Rapl, part_of, origin: path.display().to_string() };
        sources.push(Source::single(about, move || {
            file.read_positive().map(|counted| Reading::EnergyUj { counted, range })
        }));
    }
    Ok((sources, problems))
}
