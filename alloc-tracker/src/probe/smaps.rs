//! The mappings of the process and how much of each is resident (proc_pid_smaps(5)).
use procfs_core::FromRead;
use procfs_core::process::{MMapPath, MemoryMap, MemoryMaps};

/// What is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// The stack of the main thread.
    Stack,
    /// Memory without a name.
    Anonymous,
    /// Anything else that the kernel names: `[heap]`, `[vdso]`.
    Other,
}

/// One mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: usize,
    /// Address after the last.
    pub end: usize,
    /// What is mapped.
    pub kind: Kind,
    /// Resident bytes.
    pub rss: u64,
    /// The part of `rss` that belongs to no file: anonymous memory, and private copies of a file's pages that the
    /// process has written to.
    pub anonymous: u64,
}

/// The mappings of this process; `None` when the kernel's list cannot be read.
pub fn read() -> Option<Vec<Mapping>> {
    let maps = MemoryMaps::from_file("/proc/self/smaps").ok()?;
    Some(maps.iter().map(mapping).collect())
}

fn mapping(map: &MemoryMap) -> Mapping {
    let kind = match &map.pathname {
        MMapPath::Path(_) | MMapPath::Vsys(_) => Kind::File,
        MMapPath::Stack | MMapPath::TStack(_) => Kind::Stack,
        MMapPath::Anonymous => Kind::Anonymous,
        _ => Kind::Other,
    };
    let field = |name: &str| map.extension.map.get(name).copied().unwrap_or_default();
    let (start, end) = (map.address.0 as usize, map.address.1 as usize);
    Mapping { start, end, kind, rss: field("Rss"), anonymous: field("Anonymous") }
}

#[cfg(test)]
mod tests {
    use procfs_core::FromBufRead;

    use super::*;

    #[test]
    fn a_mapping_with_and_without_a_name() {
        let text = "7f0000000000-7f0000002000 r-xp 00001000 fe:00 123        /usr/lib/a b.so\n\
                    Size:                  8 kB\nRss:                   4 kB\nAnonymous:             4 kB\n\
                    7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \nRss:                   0 kB\n\
                    7f0000004000-7f0000005000 rw-p 00000000 00:00 0                          [stack]\n";
        let maps = MemoryMaps::from_buf_read(text.as_bytes()).expect("mappings");
        let mappings: Vec<Mapping> = maps.iter().map(mapping).collect();
        assert_eq!(mappings.len(), 3);
        assert_eq!((mappings[0].kind, mappings[0].rss, mappings[0].anonymous), (Kind::File, 4096, 4096));
        assert_eq!((mappings[1].kind, mappings[1].start, mappings[1].rss), (Kind::Anonymous, 0x7f00_0000_2000, 0));
        assert_eq!(mappings[2].kind, Kind::Stack);
    }
}
