//! The control group's memory, version 2 (Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files").
use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use alloc_timeline::Lane;

/// The group's folder, or why there is none.
#[derive(Debug)]
pub struct Cgroup {
    folder: Result<PathBuf, String>,
    /// The folder's memory.current, kept open.
    current: Option<File>,
    most: Option<u64>,
}

impl Cgroup {
    pub fn find() -> Self {
        let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let Some(path) = unified(&text) else {
            let folder = Err("unavailable: this process is in no control group of version 2".to_owned());
            return Cgroup { folder, current: None, most: None };
        };
        let folder = Path::new("/sys/fs/cgroup").join(path.trim_start_matches('/'));
        let path = folder.join("memory.current");
        let current = File::open(&path).ok().filter(|file| number(file).is_some());
        let folder =
            if current.is_some() { Ok(folder) } else { Err(format!("unavailable: {} cannot be read", path.display())) };
        Cgroup { folder, current, most: None }
    }

    /// The group's memory and its limit.
    pub fn read(&mut self) -> Option<(Cow<'static, str>, Option<u64>)> {
        let current = number(self.current.as_ref()?);
        self.most = self.most.max(current);
        Some(("cgroup_current".into(), current))
    }

    pub fn lane(&mut self) -> Lane {
        let (peak_bytes, source) = match &self.folder {
            Err(reason) => (None, reason.clone()),
            Ok(folder) => match File::open(folder.join("memory.peak")).ok().and_then(|file| number(&file)) {
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

fn number(file: &File) -> Option<u64> {
    let mut text = [0; 32];
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
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
