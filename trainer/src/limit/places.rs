//! Where a control group for memory could be made, from what /proc says of this process.
use std::path::{Path, PathBuf};

use procfs::ProcessCGroups;
use procfs::process::{MountInfo, MountInfos};

/// Folders that may take a new group, the best one first, or why there are none.
pub(super) type Places = Result<Vec<PathBuf>, String>;

/// Where a group of version 2 could be made: inside this process's own group or, because a group that holds processes
/// cannot hand controllers on, beside it.
pub(super) fn version_2(groups: &ProcessCGroups, mounts: &MountInfos) -> Places {
    let own = groups.0.iter().find(|group| group.hierarchy == 0);
    let mount = mounts.iter().find(|mount| mount.fs_type == "cgroup2");
    let (Some(own), Some(mount)) = (own, mount) else {
        return Err("there are no control groups of version 2 here".to_owned());
    };
    let own = folder(mount, &own.pathname).ok_or("this process's own group is not in sight from here")?;
    let beside = own.parent().filter(|parent| parent.starts_with(&mount.mount_point)).map(Path::to_owned);
    Ok([Some(own), beside].into_iter().flatten().collect())
}

/// Where a group of version 1 could be made: inside this process's own.
pub(super) fn version_1(groups: &ProcessCGroups, mounts: &MountInfos) -> Places {
    let is_memory = |name: &str| name == "memory";
    let own = groups.0.iter().find(|group| group.controllers.iter().any(|name| is_memory(name)));
    let mount =
        mounts.iter().find(|mount| mount.fs_type == "cgroup" && mount.super_options.keys().any(|name| is_memory(name)));
    let (Some(own), Some(mount)) = (own, mount) else {
        return Err("version 1 has no memory controller here".to_owned());
    };
    let own = folder(mount, &own.pathname).ok_or("this process's own group is not in sight from here")?;
    Ok(vec![own])
}

/// The folder of the group `path`. A container's mount shows a part of the tree only, that below `root`.
fn folder(mount: &MountInfo, path: &str) -> Option<PathBuf> {
    let inside = Path::new(path).strip_prefix(&mount.root).ok()?;
    Some(if inside.as_os_str().is_empty() { mount.mount_point.clone() } else { mount.mount_point.join(inside) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::FromBufRead;

    fn places(cgroup: &str, mountinfo: &str) -> [Places; 2] {
        let groups = ProcessCGroups::from_buf_read(cgroup.as_bytes()).expect("a cgroup file");
        let mounts = MountInfos::from_buf_read(mountinfo.as_bytes()).expect("a mountinfo file");
        [version_2(&groups, &mounts), version_1(&groups, &mounts)]
    }

    fn paths(paths: &[&str]) -> Places {
        Ok(paths.iter().map(PathBuf::from).collect())
    }

    /// A desktop with systemd: memory is handed on by the slice above the terminal's scope.
    #[test]
    fn version_2_alone() {
        let [two, one] = places(
            "0::/user.slice/user@1000.service/app.slice/term.scope\n",
            "31 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
        );
        let app = "/sys/fs/cgroup/user.slice/user@1000.service/app.slice";
        assert_eq!(two, paths(&[&format!("{app}/term.scope"), app]));
        assert!(one.is_err());
    }

    /// Both at once: memory is with version 1, and version 2 is mounted as `unified`, in its root, which has no parent.
    #[test]
    fn both_versions() {
        let [two, one] = places(
            "4:memory:/jobs/17\n1:cpu:/\n0::/\n",
            "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
        );
        assert_eq!(two, paths(&["/sys/fs/cgroup/unified"]));
        assert_eq!(one, paths(&["/sys/fs/cgroup/memory/jobs/17"]));
    }

    /// In a container of version 1 the mount's root is the container's own group.
    #[test]
    fn a_part_of_the_tree() {
        let [_, one] = places(
            "4:memory:/docker/abc/inner\n",
            "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n",
        );
        assert_eq!(one, paths(&["/sys/fs/cgroup/memory/inner"]));
        let [_, hidden] =
            places("4:memory:/other\n", "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
        assert!(hidden.is_err_and(|reason| reason.contains("not in sight")));
    }

    #[test]
    fn none() {
        let [two, one] = places("", "");
        assert!(two.is_err() && one.is_err());
    }
}
