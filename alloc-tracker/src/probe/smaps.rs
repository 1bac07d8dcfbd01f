//! The mappings of the process and how much of each is resident (proc_pid_maps(5), proc_pid_smaps(5)).
use procfs_core::FromRead;
use procfs_core::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps, VmFlags};

/// Addresses from the first to the one after the last.
pub type Range = std::ops::Range<usize>;

/// What is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file, or the kernel's own pages of code.
    File,
    /// Memory shared by name: /dev/shm, memfd, System V.
    Shared,
    /// The stack of the main thread.
    Stack,
    /// What `brk` has grown.
    Heap,
    /// Anonymous memory that the program has named.
    Named,
    /// Memory without a name.
    Anonymous,
}

/// One mapping. The last four fields are the kernel's counts of smaps; in a list from maps they are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its addresses.
    pub range: Range,
    /// What is mapped.
    pub kind: Kind,
    /// Its name; empty for memory without one.
    pub name: String,
    /// Whether the program may write to it.
    pub writable: bool,
    /// Whether the program may run it.
    pub executable: bool,
    /// Whether it was mapped with MAP_NORESERVE, as far as the list says.
    pub unreserved: bool,
    /// Resident bytes.
    pub rss: u64,
    /// The part of `rss` that belongs to no file: anonymous memory, and private copies of a file's pages that the
    /// process has written to.
    pub anonymous: u64,
}

/// The mappings with their resident bytes. Takes long: the kernel looks at every page.
///
/// # Errors
/// A sentence that says what could not be read.
pub fn read() -> Result<Vec<Mapping>, String> {
    list("/proc/self/smaps")
}

/// The mappings without their resident bytes and without `unreserved`. The kernel looks at no page.
///
/// # Errors
/// As for [`read`].
pub fn read_addresses() -> Result<Vec<Mapping>, String> {
    list("/proc/self/maps")
}

fn list(path: &str) -> Result<Vec<Mapping>, String> {
    let maps = MemoryMaps::from_file(path).map_err(|error| format!("unavailable: {path} cannot be read: {error}"))?;
    Ok(maps.iter().map(mapping).collect())
}

fn mapping(map: &MemoryMap) -> Mapping {
    let (kind, name) = match &map.pathname {
        MMapPath::Path(path) => {
            let path = path.to_string_lossy();
            let name = path.strip_suffix(" (deleted)").unwrap_or(&path).to_owned();
            // The kernel calls anonymous memory that processes share /dev/zero.
            let shared = ["/dev/shm/", "/memfd:", "/dev/zero"].iter().any(|start| name.starts_with(start));
            (if shared { Kind::Shared } else { Kind::File }, name)
        }
        MMapPath::Vsys(key) => (Kind::Shared, format!("System V segment {key:#x}")),
        MMapPath::Stack | MMapPath::TStack(_) => (Kind::Stack, "[stack]".to_owned()),
        MMapPath::Heap => (Kind::Heap, "[heap]".to_owned()),
        MMapPath::Anonymous => (Kind::Anonymous, String::new()),
        MMapPath::Other(name) if name.starts_with("anon_shmem:") => (Kind::Shared, format!("[{name}]")),
        MMapPath::Other(name) if name.starts_with("anon:") => (Kind::Named, format!("[{name}]")),
        MMapPath::Vdso => (Kind::File, "[vdso]".to_owned()),
        // Other names in brackets are pages of the kernel.
        other => (Kind::File, format!("{other:?}")),
    };
    let field = |name: &str| map.extension.map.get(name).copied().unwrap_or_default();
    Mapping {
        range: map.address.0 as usize..map.address.1 as usize,
        kind,
        name,
        writable: map.perms.contains(MMPermissions::WRITE),
        executable: map.perms.contains(MMPermissions::EXECUTE),
        unreserved: map.extension.vm_flags.contains(VmFlags::NR),
        rss: field("Rss"),
        anonymous: field("Anonymous"),
    }
}

#[cfg(test)]
mod tests {
    use procfs_core::FromBufRead;

    use super::*;

    #[test]
    fn mappings_with_and_without_a_name() {
        let text = "7f0000000000-7f0000002000 r-xp 00001000 fe:00 123        /usr/lib/a b.so\n\
                    Size:                  8 kB\nRss:                   4 kB\nAnonymous:             4 kB\n\
                    VmFlags: rd ex mr mw me\n\
                    7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \nRss:                   0 kB\n\
                    VmFlags: rd wr mr mw me nr nh\n\
                    7f0000004000-7f0000005000 rw-p 00000000 00:00 0                          [stack]\n\
                    7f0000005000-7f0000006000 rw-s 00000000 00:01 9      /SYSV0000002a (deleted)\n\
                    7f0000006000-7f0000007000 rw-s 00000000 00:01 9      /memfd:pool (deleted)\n\
                    7f0000007000-7f0000008000 rw-p 00000000 00:00 0      [anon:OpenMP]\n";
        let maps = MemoryMaps::from_buf_read(text.as_bytes()).expect("mappings");
        let mappings: Vec<Mapping> = maps.iter().map(mapping).collect();
        let found: Vec<_> = mappings.iter().map(|one| (one.kind, one.name.as_str(), one.unreserved)).collect();
        let expected = [
            (Kind::File, "/usr/lib/a b.so", false),
            (Kind::Anonymous, "", true),
            (Kind::Stack, "[stack]", false),
            (Kind::Shared, "System V segment 0x2a", false),
            (Kind::Shared, "/memfd:pool", false),
            (Kind::Named, "[anon:OpenMP]", false),
        ];
        assert_eq!(found, expected);
        assert_eq!((mappings[0].rss, mappings[0].anonymous), (4096, 4096));
        assert_eq!(mappings[1].range, 0x7f00_0000_2000..0x7f00_0000_3000);
        assert!(mappings[0].executable && !mappings[0].writable && mappings[1].writable);
    }
}
