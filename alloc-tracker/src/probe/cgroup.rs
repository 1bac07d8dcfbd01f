//! The control group's memory, version 2 (Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files").
use std::path::{Path, PathBuf};

use alloc_timeline::Lane;

/// The group's folder, or why there is none.
#[derive(Debug)]
pub struct Cgroup {
    folder: Result<PathBuf, String>,
    most: Option<u64>,
}

impl Cgroup {
    pub fn find() -> Self {
        let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let folder = match unified(&text) {
            None => Err("unavailable: this process is in no control group of version 2".to_owned()),
            Some(path) => {
                let folder = Path::new("/sys/fs/cgroup").join(path.trim_start_matches('/'));
                let current = folder.join("memory.current");
                if number(&current).is_some() {
                    Ok(folder)
                } else {
                    Err(format!("unavailable: {} cannot be read", current.display()))
                }
            }
        };
        Cgroup { folder, most: None }
    }

    /// The group's memory and its limit.
    pub fn read(&mut self) -> Vec<(String, Option<u64>)> {
        let Ok(folder) = &self.folder else { return Vec::new() };
        let current = number(&folder.join("memory.current"));
        self.most = self.most.max(current);
        vec![("cgroup_current".to_owned(), current)]
    }

    pub fn lane(&mut self) -> Lane {
        let (peak_bytes, source) = match &self.folder {
            Err(reason) => (None, reason.clone()),
            Ok(folder) => match number(&folder.join("memory.peak")) {
                Some(peak) => {
                    (Some(peak), format!("{}/memory.peak: the whole group since it was made", folder.display()))
                }
                None => (self.most, format!("the most of {}/memory.current on any tick", folder.display())),
            },
        };
        Lane { name: "cgroup".to_owned(), peak_bytes, at_peak_bytes: None, source }
    }
}

/// The path of the line `0::/path`, which is version 2's.
fn unified(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("0::"))
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_version_2_counts() {
        assert_eq!(unified("12:memory:/old\n0::/user.slice/a.scope\n"), Some("/user.slice/a.scope"));
        assert_eq!(unified("12:memory:/old\n"), None);
    }
}
