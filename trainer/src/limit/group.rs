//! A control group of this program's own: made, limited, read, and removed whatever happens.
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use alloc_tracker::control_group::{Version, find_version};
use anyhow::{Result, bail};

use super::counters::Counters;
use super::{Limit, Means};

/// What the groups of this program are called, with its process id behind it.
const NAME: &str = "trainer-limited-";
/// How often the removal of a group is tried, and how long is waited in between: the kernel takes a moment to forget the
/// group's last process.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// What holds a command to its limit.
#[derive(Debug)]
pub(crate) enum Holder {
    /// A control group.
    Group(Group),
    /// RLIMIT_AS, with the reasons why there is no control group.
    AddressSpace(Vec<String>),
}

/// A control group.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
    version: u8,
}

impl Holder {
    /// Makes what `means` asks for, with the limit set.
    ///
    /// # Errors
    /// When it cannot be made; the message says why, and what to type.
    pub(crate) fn make(means: Means, limit: Limit, swap: Option<u64>) -> Result<Holder> {
        let mut reasons = Vec::new();
        let versions: &[u8] = match means {
            Means::Auto => &[2, 1],
            Means::CgroupV2 => &[2],
            Means::CgroupV1 => &[1],
            Means::AddressSpace => &[],
        };
        for &version in versions {
            match make_group(version, limit, swap) {
                Ok(group) => return Ok(Holder::Group(group)),
                Err(reason) => reasons.push(format!("no control group of version {version}: {reason}")),
            }
        }
        if matches!(means, Means::Auto | Means::AddressSpace) {
            return Ok(Holder::AddressSpace(reasons));
        }
        bail!(
            "{}; run it as root, or in a group that is yours: systemd-run --user --scope trainer run-limited ...; where \
             nothing hands the controller on, root can: echo +memory > /sys/fs/cgroup/cgroup.subtree_control; or limit \
             the address space with --by address-space",
            reasons.join("; ")
        )
    }

    /// In words: what it is, and why it is not something better.
    pub(crate) fn describe(&self) -> String {
        match self {
            Holder::Group(group) => format!("a control group of version {}, {}", group.version, group.folder.display()),
            Holder::AddressSpace(reasons) => {
                let mut text = "the size of the address space (RLIMIT_AS), which counts what is mapped, not what is \
                                used"
                    .to_owned();
                for reason in reasons {
                    text.push_str("; ");
                    text.push_str(reason);
                }
                text
            }
        }
    }

    /// The word for it in JSON: `cgroup-v2`, `cgroup-v1`, `address-space`.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Holder::Group(Group { version: 2, .. }) => "cgroup-v2",
            Holder::Group(_) => "cgroup-v1",
            Holder::AddressSpace(_) => "address-space",
        }
    }

    /// What it has counted so far.
    pub(crate) fn counters(&self) -> Counters {
        match self {
            Holder::Group(group) => group.counters(),
            Holder::AddressSpace(_) => Counters::default(),
        }
    }
}

fn make_group(version: u8, limit: Limit, swap: Option<u64>) -> Result<Group, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"));
    let kind = if version == 2 { Version::Two } else { Version::One };
    let own = find_version(kind, &read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)?;
    // Inside of this process's own group or, in version 2, where a group that holds processes cannot hand controllers on,
    // beside it.
    let parents = own.lineage().take(version.into());
    let mut reasons = Vec::new();
    for parent in parents {
        match Group::make(version, parent, limit, swap) {
            Ok(group) => return Ok(group),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(reasons.join("; "))
}

impl Group {
    /// Makes a group in the folder `parent`.
    fn make(version: u8, parent: &Path, limit: Limit, swap: Option<u64>) -> Result<Group, String> {
        if version == 2 {
            let handed_on = fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
            if !handed_on.split_whitespace().any(|name| name == "memory") {
                return Err(format!("{} does not hand the memory controller on", parent.display()));
            }
        }
        remove_old(parent);
        let folder = parent.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| format!("{}: cannot be made: {error}", folder.display()))?;
        // From here on the group is removed whichever way this ends.
        let group = Group { folder, version };
        group.limit(limit, swap)?;
        Ok(group)
    }

    fn limit(&self, limit: Limit, swap: Option<u64>) -> Result<(), String> {
        if let Some(bytes) = limit.0 {
            self.write(if self.version == 2 { "memory.max" } else { "memory.limit_in_bytes" }, bytes)?;
        }
        match (swap, limit.0) {
            (None, _) => Ok(()),
            (Some(swap), _) if self.version == 2 => self.write("memory.swap.max", swap),
            // In version 1, a group's reclaim swaps nothing out at swappiness 0. (A limit of memory and swap together would
            // do as well, but where it is hit first the kernel counts no hits.)
            (Some(0), _) => self.write("memory.swappiness", 0),
            (Some(swap), Some(bytes)) => self.write("memory.memsw.limit_in_bytes", bytes.saturating_add(swap)),
            (Some(_), None) => Err("version 1 limits memory and swap together: give --memory a size".to_owned()),
        }
    }

    fn write(&self, file: &str, number: u64) -> Result<(), String> {
        let path = self.folder.join(file);
        fs::write(&path, number.to_string()).map_err(|error| format!("{}: cannot be written: {error}", path.display()))
    }

    /// The file through which a process joins.
    pub(super) fn door(&self) -> std::io::Result<File> {
        File::options().write(true).open(self.folder.join("cgroup.procs"))
    }

    fn counters(&self) -> Counters {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        if self.version == 2 { Counters::version_2(read) } else { Counters::version_1(read) }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            // What the command left running would keep the group, and nothing would limit it any more.
            let left = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
            for process in left.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|&process| process > 0) {
                // SAFETY: kill takes two numbers and touches no memory; the process is in this group, which only the
                // command and its descendants ever joined.
                unsafe { libc::kill(process, libc::SIGKILL) };
            }
            match fs::remove_dir(&self.folder) {
                Ok(()) => return,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        let shown = self.folder.display();
        crate::console::print_error_line(&format!("note: {shown}: cannot be removed; do it with rmdir {shown}"));
    }
}

/// Removes groups that runs of this program left because they were killed: those whose process is gone.
fn remove_old(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            // One that still holds processes stays: it cannot be removed, and they are not this run's to end.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders that look like groups of version 2. Without the memory controller there would be nothing to write a limit to.
    #[test]
    fn version_2_needs_a_parent_that_hands_memory_on() {
        let parent = tempfile::tempdir().expect("a folder");
        for handed_on in ["", "cpu io pids\n", "memory_other\n"] {
            fs::write(parent.path().join("cgroup.subtree_control"), handed_on).expect("written");
            let refused = Group::make(2, parent.path(), Limit(Some(1 << 30)), None).expect_err("refused");
            assert!(refused.ends_with("does not hand the memory controller on"), "{refused}");
        }
        assert_eq!(fs::read_dir(parent.path()).expect("readable").count(), 1, "nothing was made");
    }

    /// The group of a process that is gone goes, that of a living one stays.
    #[test]
    fn what_killed_runs_left_is_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        let group = |process: u32| parent.path().join(format!("{NAME}{process}"));
        // Linux gives out no process id above 2^22.
        let (gone, own) = (group(5_000_000), group(std::process::id()));
        fs::create_dir(&gone).and_then(|()| fs::create_dir(&own)).expect("made");
        remove_old(parent.path());
        assert!(!gone.exists() && own.exists());
    }
}
