//! The mappings of the process and how much of each is resident (proc_pid_smaps(5)).
use super::status::kib_field;

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: usize,
    /// Address after the last.
    pub end: usize,
    /// What is mapped: a path, `[stack]`, or nothing.
    pub name: String,
    /// Resident bytes.
    pub rss: u64,
    /// Those of them that belong to no file (any more): anonymous memory, and written pages of a private mapping.
    pub anonymous: u64,
}

/// The mappings of this process; `None` when the kernel does not tell.
pub fn read() -> Option<Vec<Mapping>> {
    std::fs::read_to_string("/proc/self/smaps").ok().map(|text| parse(&text))
}

/// The mappings in a text of the kernel's form.
pub fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        if let Some(mapping) = head(line) {
            mappings.push(mapping);
        } else if let Some(last) = mappings.last_mut() {
            if line.starts_with("Rss:") {
                last.rss = kib_field(line, "Rss").unwrap_or_default();
            } else if line.starts_with("Anonymous:") {
                last.anonymous = kib_field(line, "Anonymous").unwrap_or_default();
            }
        }
    }
    mappings
}

/// `7f00-7f10 rw-p 00000000 00:00 0   name`, or `None` for the lines about it.
fn head(line: &str) -> Option<Mapping> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let mut rest = rest;
    for _ in 0..4 {
        rest = rest.trim_start().split_once(' ').map_or("", |(_, after)| after);
    }
    Some(Mapping { start, end, name: rest.trim().to_owned(), rss: 0, anonymous: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_with_and_without_a_name() {
        let text = "7f0000000000-7f0000002000 r-xp 00001000 fe:00 123        /usr/lib/a b.so\n\
                    Size:                  8 kB\nRss:                   4 kB\nAnonymous:             4 kB\n\
                    7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \nRss:                   0 kB\n";
        let mappings = parse(text);
        assert_eq!(mappings.len(), 2);
        assert_eq!((mappings[0].name.as_str(), mappings[0].rss), ("/usr/lib/a b.so", 4096));
        assert_eq!((mappings[0].anonymous, mappings[1].anonymous), (4096, 0));
        assert_eq!((mappings[1].name.as_str(), mappings[1].start), ("", 0x7f00_0000_2000));
    }
}
