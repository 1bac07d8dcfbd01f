//! The control group's memory, version 2 (Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files").
use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use alloc_timeline::OutsideFigure;
use procfs_core::{FromRead, ProcessCGroups};

/// The control group of this process, opened once and read on ticks.
#[derive(Debug)]
pub struct Cgroup {
    /// The group's folder, or the reason why there is none.
    folder: Result<PathBuf, String>,
    /// The folder's memory.current, kept open.
    current: Option<File>,
    /// The largest reading so far, in bytes.
    most: Option<u64>,
}

impl Cgroup {
    /// Looks for the group of this process.
    pub fn find() -> Self {
        let groups = ProcessCGroups::from_file("/proc/self/cgroup").ok();
        let Some(path) = groups.as_ref().and_then(version_2) else {
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

    /// The bytes that the group uses now; nothing where there is no group.
    pub fn read(&mut self) -> Option<(Cow<'static, str>, Option<u64>)> {
        let current = number(self.current.as_ref()?);
        self.most = self.most.max(current);
        Some(("cgroup_current".into(), current))
    }

    /// The group's figure for the whole run.
    pub fn figure(&mut self) -> OutsideFigure {
        let (peak_bytes, source) = match &self.folder {
            Err(reason) => (None, reason.clone()),
            Ok(folder) => match File::open(folder.join("memory.peak")).ok().and_then(|file| number(&file)) {
                Some(peak) => {
                    (Some(peak), format!("{}/memory.peak: the whole group since it was made", folder.display()))
                }
                None => (self.most, format!("the most of {}/memory.current on any tick", folder.display())),
            },
        };
        OutsideFigure { name: "cgroup".to_owned(), peak_bytes, at_peak_bytes: None, source }
    }
}

/// The group's path in version 2, whose hierarchy always has the number 0.
fn version_2(groups: &ProcessCGroups) -> Option<&str> {
    groups.0.iter().find(|group| group.hierarchy == 0).map(|group| group.pathname.as_str())
}

fn number(file: &File) -> Option<u64> {
    let mut text = [0; 32];
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use procfs_core::FromBufRead;

    use super::*;

    #[test]
    fn only_version_2_counts() {
        let path = |text: &str| {
            let groups = ProcessCGroups::from_buf_read(text.as_bytes()).expect("groups");
            version_2(&groups).map(str::to_owned)
        };
        assert_eq!(path("12:memory:/old\n0::/user.slice/a.scope\n").as_deref(), Some("/user.slice/a.scope"));
        assert_eq!(path("12:memory:/old\n"), None);
    }
}
