//! The control group's memory, of either version: columns of the time line, and the figure of the whole run.
//!
//! ```text
//! /proc/self/{cgroup,mountinfo} -> place.rs -> group.rs (opens and reads) -> files.rs, stat.rs (what the texts say)
//! ```
mod files;

mod stat;

mod place;

mod group;

use alloc_timeline::OutsideFigure;

use super::reading::Readings;

pub use files::Version;
pub use group::{Group, Level};
pub use place::{Place, find_version};

/// The control group of this process, opened once and read on ticks.
#[derive(Debug)]
pub struct Cgroup {
    /// The group, or the reason why there is none.
    group: Result<Group, String>,
    /// The largest reading so far, in bytes.
    most: Option<u64>,
}

impl Cgroup {
    /// Looks for the group of this process.
    pub fn find() -> Self {
        Cgroup { group: Group::open().map_err(|reason| format!("unavailable: {reason}")), most: None }
    }

    /// The bytes that the group uses now, and the tightest limit that holds for it if there is one; nothing where there
    /// is no group.
    pub fn read(&mut self) -> Readings {
        let Ok(group) = &self.group else { return Vec::new() };
        let current = group.own().usage();
        self.most = self.most.max(current);
        let mut readings: Readings = vec![("cgroup_current".into(), current)];
        readings.extend(group.tightest().map(|tightest| ("cgroup_limit".into(), Some(tightest.bytes))));
        readings
    }

    /// The group's figure for the whole run.
    pub fn figure(&mut self) -> OutsideFigure {
        let (peak_bytes, source) = match &self.group {
            Err(reason) => (None, reason.clone()),
            Ok(group) => {
                let (own, names) = (group.own(), group.version().names());
                // Whoever may write to the file can set the kernel's maximum back.
                match own.number(names.peak).filter(|&peak| Some(peak) >= self.most) {
                    Some(peak) => {
                        (Some(peak), format!("{}: the whole group since it was made", own.path(names.peak).display()))
                    }
                    None => (self.most, format!("the most of {} on any tick", own.path(names.usage).display())),
                }
            }
        };
        OutsideFigure { name: "cgroup".to_owned(), peak_bytes, at_peak_bytes: None, source }
    }
}

#[cfg(test)]
mod captured_tests;

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever this machine has: either a number and its file, or a reason.
    #[test]
    fn the_figure_is_a_number_or_a_reason() {
        let mut cgroup = Cgroup::find();
        let read = cgroup.read();
        let figure = cgroup.figure();
        println!("{read:?}, {figure:?}");
        assert_eq!(read.is_empty(), figure.source.starts_with("unavailable: "));
        assert_eq!(read.is_empty(), figure.peak_bytes.is_none());
        if let Some((name, bytes)) = read.first() {
            assert_eq!(name, "cgroup_current");
            assert!(figure.peak_bytes >= *bytes && figure.source.contains("/memory."), "{figure:?}");
        }
    }
}
