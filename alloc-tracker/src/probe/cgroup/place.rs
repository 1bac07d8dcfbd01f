//! Where the kernel counts the memory of this process's control group: a folder, found through /proc/self/cgroup and
//! /proc/self/mountinfo (cgroups(7), proc_pid_mountinfo(5)).
//!
//! ```text
//! /proc/self/cgroup       4:memory:/docker/abc          the group's path in its hierarchy
//! /proc/self/mountinfo    ... /docker /sys/fs/cgroup/memory ... cgroup ...
//!                             root    mount point       the part of the hierarchy that is mounted, and where
//! folder                  /sys/fs/cgroup/memory/abc     mount point + (path - root)
//! ```
//!
//! A machine may have both versions mounted. Then memory is counted where the memory controller is: in version 1 if
//! /proc/self/cgroup names `memory` there, in version 2 otherwise.
use std::path::{Path, PathBuf};

use procfs_core::process::MountInfo;
use procfs_core::{FromBufRead, ProcessCGroup, ProcessCGroups};

use super::files::Version;

/// The group's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which files lie there.
    pub version: Version,
    /// The topmost folder of the hierarchy that is visible here.
    pub mount: PathBuf,
    /// The group's folder: `mount`, or a folder below it.
    pub folder: PathBuf,
}

impl Place {
    /// The folders of the group and of its ancestors as far as they are visible, the group's first.
    pub fn lineage(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take_while(|folder| folder.starts_with(&self.mount))
    }
}

/// The place of the group that counts this process's memory, as the texts of /proc/self/cgroup and /proc/self/mountinfo
/// say.
///
/// # Errors
/// The reason why the group has no folder here, as a part of a sentence.
pub fn find(cgroups: &str, mounts: &str) -> Result<Place, String> {
    let groups = parsed(cgroups)?;
    let memory = [Version::One, Version::Two].into_iter().find_map(|version| Some((version, group(&groups, version)?)));
    let (version, group) = memory.ok_or("this process is in no control group that counts memory")?;
    place(version, group, mounts)
}

/// The place of this process's group of one version, whether memory is counted there or with the other one.
///
/// # Errors
/// The reason why the group has no folder here, as a part of a sentence.
pub fn find_version(version: Version, cgroups: &str, mounts: &str) -> Result<Place, String> {
    let groups = parsed(cgroups)?;
    let group = group(&groups, version);
    place(version, group.ok_or_else(|| format!("version {version} has no group for this process's memory"))?, mounts)
}

fn parsed(cgroups: &str) -> Result<ProcessCGroups, String> {
    ProcessCGroups::from_buf_read(cgroups.as_bytes()).map_err(|_| "/proc/self/cgroup cannot be understood".to_owned())
}

fn place(version: Version, group: &ProcessCGroup, mounts: &str) -> Result<Place, String> {
    let mut reason = format!("the control groups of version {version} are not mounted");
    let mut best: Option<(usize, Place)> = None;
    for mount in mounts.lines().filter_map(|line| MountInfo::from_line(line).ok()).filter(|mount| has(mount, version)) {
        let (root, mount_point) = (unescaped(&mount.root), unescaped(&mount.mount_point.to_string_lossy()));
        let Ok(below) = Path::new(&group.pathname).strip_prefix(&root) else {
            reason = format!("the group {} is not below {root}, which is all that is mounted here", group.pathname);
            continue;
        };
        // A path with `..` leads out of what a container may see.
        if below.components().any(|part| part.as_os_str() == "..") {
            reason = format!("the group {} is outside of this control group namespace", group.pathname);
            continue;
        }
        let mount = PathBuf::from(mount_point);
        // Joined with nothing, a path would end in a slash.
        let folder = if below.as_os_str().is_empty() { mount.clone() } else { mount.join(below) };
        let place = Place { version, folder, mount };
        // The mount with the shortest root shows the most ancestors.
        if best.as_ref().is_none_or(|(length, _)| root.len() < *length) {
            best = Some((root.len(), place));
        }
    }
    best.map(|(_, place)| place).ok_or(reason)
}

/// The group of version 1 that counts memory, or the one of version 2, whose hierarchy always has the number 0.
fn group(groups: &ProcessCGroups, version: Version) -> Option<&ProcessCGroup> {
    groups.0.iter().find(|group| match version {
        Version::One => group.controllers.iter().any(|controller| controller == "memory"),
        Version::Two => group.hierarchy == 0,
    })
}

fn has(mount: &MountInfo, version: Version) -> bool {
    match version {
        Version::One => mount.fs_type == "cgroup" && mount.super_options.contains_key("memory"),
        Version::Two => mount.fs_type == "cgroup2",
    }
}

/// A path of mountinfo, where blanks and backslashes are three octal digits behind a backslash.
fn unescaped(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                text.push(byte.into());
                text.push_str(&part[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = include_str!("../../../../fixtures/cgroup/v1/proc_self_cgroup");
    const V1_MOUNTS: &str = include_str!("../../../../fixtures/cgroup/v1/proc_self_mountinfo");

    fn at(version: Version, mount: &str, folder: &str) -> Result<Place, String> {
        Ok(Place { version, mount: mount.into(), folder: folder.into() })
    }

    /// Both versions are mounted; the memory controller is in version 1.
    #[test]
    fn a_hybrid_machine_counts_in_version_1() {
        let found = find(V1, V1_MOUNTS).expect("a place");
        assert_eq!((found.version, found.mount.as_path()), (Version::One, Path::new("/sys/fs/cgroup/memory")));
        let lineage: Vec<&Path> = found.lineage().collect();
        let top = "/sys/fs/cgroup/memory";
        let expected = [format!("{top}/jobs/train-7"), format!("{top}/jobs"), top.to_owned()];
        assert_eq!(lineage, expected.iter().map(Path::new).collect::<Vec<_>>());
    }

    /// Who wants to make a group asks for each version.
    #[test]
    fn either_version_of_a_hybrid_machine() {
        let groups = "4:memory:/jobs/17\n1:cpu:/\n0::/\n";
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let unified = "/sys/fs/cgroup/unified";
        let memory = "/sys/fs/cgroup/memory";
        assert_eq!(find_version(Version::Two, groups, mounts), at(Version::Two, unified, unified));
        assert_eq!(
            find_version(Version::One, groups, mounts),
            at(Version::One, memory, "/sys/fs/cgroup/memory/jobs/17")
        );
        let absent = find_version(Version::One, "0::/\n", mounts);
        assert_eq!(absent, Err("version 1 has no group for this process's memory".to_owned()));
    }

    #[test]
    fn version_2_in_a_slice() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = find("0::/user.slice/user-1000.slice/a.scope\n", mounts);
        let folder = "/sys/fs/cgroup/user.slice/user-1000.slice/a.scope";
        assert_eq!(found, at(Version::Two, "/sys/fs/cgroup", folder));
    }

    /// A container with a namespace of its own sees itself as the root.
    #[test]
    fn a_namespace_hides_the_path() {
        let mounts = "701 690 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";
        assert_eq!(find("0::/\n", mounts), at(Version::Two, "/sys/fs/cgroup", "/sys/fs/cgroup"));
        let found = find("0::/\n", mounts).expect("a place");
        assert_eq!(found.folder.display().to_string(), "/sys/fs/cgroup", "as people write it");
        let reason = find("0::/../other\n", mounts).expect_err("outside");
        assert!(reason.contains("/../other is outside"), "{reason}");
    }

    /// A container without one has its own group mounted, under a path that counts from the machine's root.
    #[test]
    fn the_mounts_root_is_taken_off() {
        let group = "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc/inner\n";
        let mounts = "36 31 0:33 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                      37 31 0:34 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n";
        let mount = "/sys/fs/cgroup/memory";
        assert_eq!(find(group, mounts), at(Version::One, mount, "/sys/fs/cgroup/memory/inner"));
        let reason = find("4:memory:/other\n", mounts).expect_err("not mounted");
        assert_eq!(reason, "the group /other is not below /docker/abc, which is all that is mounted here");
        // Of two mounts, the one that shows more ancestors.
        let both = format!("{mounts}90 1 0:33 / /host/my\\040groups rw - cgroup cgroup rw,memory\n");
        let folder = "/host/my groups/docker/abc/inner";
        assert_eq!(find(group, &both), at(Version::One, "/host/my groups", folder));
    }

    #[test]
    fn no_group_is_a_reason() {
        assert_eq!(find("", ""), Err("this process is in no control group that counts memory".to_owned()));
        assert_eq!(find("0::/a\n", "rubbish\n"), Err("the control groups of version 2 are not mounted".to_owned()));
        assert_eq!(find("rubbish", ""), Err("/proc/self/cgroup cannot be understood".to_owned()));
    }
}
