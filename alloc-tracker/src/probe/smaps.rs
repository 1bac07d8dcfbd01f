//! The mappings of the process and how much of each is resident (proc_pid_maps(5), proc_pid_smaps(5)).
use std::io::{self, BufRead, BufReader};

use alloc_timeline::kept_file::KeptFile;

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
    /// Memory without a name, of which the program or a library told what it is for; the mapping's name says for whom.
    Told(&'static str),
    /// The same of memory that processes share by name.
    ToldShared(&'static str),
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
    // The kernel gives a page at a time, however large the buffer is.
    let mappings = KeptFile::open(path).and_then(|file| parse(BufReader::new(file)));
    mappings.map_err(|error| format!("unavailable: {path} cannot be read: {error}"))
}

/// The mappings of a text like /proc/self/smaps or maps. We read it without procfs, which holds every field of every
/// mapping in maps of strings: for a program with 30,000 mappings 40 MiB, which would then be in the resident set that is
/// to be explained.
///
/// # Errors
/// What could not be read, and the first line that is none of such a text.
pub fn parse(mut text: impl BufRead) -> io::Result<Vec<Mapping>> {
    let mut mappings: Vec<Mapping> = Vec::new();
    let mut line = Vec::new();
    while text.read_until(b'\n', &mut line)? > 0 {
        let content = String::from_utf8_lossy(line.trim_ascii_end());
        // Fields begin with a capital letter, addresses are written in small ones.
        if content.starts_with(|first: char| first.is_ascii_uppercase()) {
            if let Some(mapping) = mappings.last_mut() {
                mapping.take_field(&content);
            }
        } else {
            let mapping = Mapping::of_header(&content);
            let wrong = || io::Error::new(io::ErrorKind::InvalidData, format!("not a mapping: {content:?}"));
            mappings.push(mapping.ok_or_else(wrong)?);
        }
        line.clear();
    }
    Ok(mappings)
}

impl Mapping {
    /// Of a line such as `7f0000000000-7f0000002000 r-xp 00001000 fe:00 123        /usr/lib/a b.so`.
    fn of_header(line: &str) -> Option<Mapping> {
        let mut rest = line;
        let [addresses, permissions, _offset, _device, _inode] = [(); 5].map(|()| word(&mut rest));
        let (first, behind) = addresses.split_once('-')?;
        let address = |digits| usize::from_str_radix(digits, 16).ok();
        let (kind, name) = kind_and_name(rest.trim_start());
        Some(Mapping {
            range: address(first)?..address(behind)?,
            kind,
            name,
            writable: permissions.contains('w'),
            executable: permissions.contains('x'),
            unreserved: false,
            rss: 0,
            anonymous: 0,
        })
    }

    /// Of a line such as `Rss:                   4 kB`.
    fn take_field(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else { return };
        let bytes =
            || value.trim_ascii().strip_suffix(" kB").and_then(|kib| kib.parse::<u64>().ok()).map(|kib| kib << 10);
        match name {
            "Rss" => self.rss = bytes().unwrap_or_default(),
            "Anonymous" => self.anonymous = bytes().unwrap_or_default(),
            "VmFlags" => self.unreserved = value.split_ascii_whitespace().any(|flag| flag == "nr"),
            _ => {}
        }
    }
}

/// Takes the next word off `rest`; empty at the end.
fn word<'a>(rest: &mut &'a str) -> &'a str {
    let text = rest.trim_ascii_start();
    let (word, after) = text.split_at(text.find(' ').unwrap_or(text.len()));
    *rest = after;
    word
}

/// What is mapped, by the last column of a line.
fn kind_and_name(path: &str) -> (Kind, String) {
    let Some(in_brackets) = path.strip_prefix('[').and_then(|name| name.strip_suffix(']')) else {
        return of_path(path);
    };
    let kind = match in_brackets {
        "heap" => Kind::Heap,
        name if name == "stack" || name.starts_with("stack:") => return (Kind::Stack, "[stack]".to_owned()),
        name if name.starts_with("anon_shmem:") => Kind::Shared,
        name if name.starts_with("anon:") => Kind::Named,
        // Other names in brackets are pages of the kernel.
        _ => Kind::File,
    };
    (kind, path.to_owned())
}

fn of_path(path: &str) -> (Kind, String) {
    if path.is_empty() {
        return (Kind::Anonymous, String::new());
    }
    let name = path.strip_suffix(" (deleted)").unwrap_or(path);
    if let Some(key) = name.strip_prefix("/SYSV").and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
        return (Kind::Shared, format!("System V segment {key:#x}"));
    }
    // The kernel calls anonymous memory that processes share /dev/zero.
    let shared = ["/dev/shm/", "/memfd:", "/dev/zero"].iter().any(|start| name.starts_with(start));
    (if shared { Kind::Shared } else { Kind::File }, name.to_owned())
}

#[cfg(test)]
mod tests {
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
                    7f0000007000-7f0000008000 rw-p 00000000 00:00 0      [anon:OpenMP]\n\
                    7f0000008000-7f0000009000 rw-s 00000000 00:01 9      [anon_shmem:pool]\n\
                    55d5a2f3c000-55d5a2f5d000 rw-p 00000000 00:00 0      [heap]\n\
                    ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
        let mappings = parse(text.as_bytes()).expect("mappings");
        let found: Vec<_> = mappings.iter().map(|one| (one.kind, one.name.as_str(), one.unreserved)).collect();
        let expected = [
            (Kind::File, "/usr/lib/a b.so", false),
            (Kind::Anonymous, "", true),
            (Kind::Stack, "[stack]", false),
            (Kind::Shared, "System V segment 0x2a", false),
            (Kind::Shared, "/memfd:pool", false),
            (Kind::Named, "[anon:OpenMP]", false),
            (Kind::Shared, "[anon_shmem:pool]", false),
            (Kind::Heap, "[heap]", false),
            (Kind::File, "[vsyscall]", false),
        ];
        assert_eq!(found, expected);
        assert_eq!((mappings[0].rss, mappings[0].anonymous), (4096, 4096));
        assert_eq!(mappings[1].range, 0x7f00_0000_2000..0x7f00_0000_3000);
        assert!(mappings[0].executable && !mappings[0].writable && mappings[1].writable);
    }

    /// What the kernel lists for this process is read as procfs reads it.
    #[test]
    fn as_procfs_reads_it() {
        use procfs_core::FromBufRead;
        use procfs_core::process::{MMPermissions, MemoryMaps};

        let text = std::fs::read("/proc/self/smaps").expect("smaps");
        let mappings = parse(&text[..]).expect("mappings");
        let theirs = MemoryMaps::from_buf_read(&text[..]).expect("mappings");
        assert_eq!(mappings.len(), theirs.iter().count());
        for (ours, theirs) in mappings.iter().zip(&theirs) {
            let field = |name: &str| theirs.extension.map.get(name).copied().unwrap_or_default();
            assert_eq!((ours.range.start as u64, ours.range.end as u64), theirs.address, "{ours:?}");
            assert_eq!((ours.rss, ours.anonymous), (field("Rss"), field("Anonymous")), "{ours:?}");
            assert_eq!(ours.writable, theirs.perms.contains(MMPermissions::WRITE), "{ours:?}");
            assert_eq!(ours.executable, theirs.perms.contains(MMPermissions::EXECUTE), "{ours:?}");
        }
    }

    #[test]
    fn what_is_no_mapping_is_an_error() {
        let reason = parse(&b"7f0000000000 r-xp\n"[..]).expect_err("no range");
        assert_eq!(reason.to_string(), "not a mapping: \"7f0000000000 r-xp\"");
    }
}
