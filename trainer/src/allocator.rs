//! Allocators as people type them: a name, and settings that go to the allocator through its environment.
//!
//! ```text
//! jemalloc:dirty_decay_ms:0+muzzy_decay_ms:0
//! name     setting        + setting
//! ```
//!
//! Each allocator has a binary of its own, so that a process is served by that allocator alone, C++ included.
use std::fmt;
use std::str::FromStr;

/// The allocators that a binary exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// jemalloc with the settings that the tracker gives it.
    Jemalloc,
    /// The C library's own.
    Glibc,
    /// mimalloc.
    Mimalloc,
}

/// Names, kinds and binaries.
const KINDS: [(&str, Kind, &str); 3] = [
    ("jemalloc", Kind::Jemalloc, "trainer"),
    ("glibc", Kind::Glibc, "trainer-glibc"),
    ("mimalloc", Kind::Mimalloc, "trainer-mimalloc"),
];

/// glibc's tunables below `glibc.malloc.`: it says nothing of a name that it does not know.
const GLIBC_SETTINGS: [&str; 10] = [
    "arena_max",
    "arena_test",
    "hugetlb",
    "mmap_max",
    "mmap_threshold",
    "mxfast",
    "perturb",
    "tcache_count",
    "top_pad",
    "trim_threshold",
];

/// Options of mimalloc that change when memory goes back to the kernel: it says nothing of a name that it does not know.
const MIMALLOC_SETTINGS: [&str; 7] = [
    "allow_large_os_pages",
    "allow_thp",
    "arena_eager_commit",
    "arena_purge_mult",
    "arena_reserve",
    "purge_decommits",
    "purge_delay",
];

/// What all environment variables begin with that one of the allocators reads.
pub(crate) const ENVIRONMENT: [&str; 6] =
    ["ALLOC_TRACKER", "GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_", "MIMALLOC_", "_RJEM_MALLOC_CONF"];

/// An allocator with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    text: String,
    kind: Kind,
    settings: Vec<(String, String)>,
}

impl Kind {
    /// What the tracker calls it, where it can serve a whole program over it.
    pub(crate) fn backend(self) -> Option<&'static str> {
        match self {
            Kind::Jemalloc => Some("jemalloc"),
            Kind::Glibc => Some("system"),
            Kind::Mimalloc => None,
        }
    }
}

impl Spec {
    /// Which allocator it is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The binary that this allocator serves.
    pub(crate) fn program(&self) -> &'static str {
        KINDS.iter().find(|(_, kind, _)| *kind == self.kind).map_or("trainer", |(_, _, program)| program)
    }

    /// The environment variables that carry the settings.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let joined = |between: &str, pair: fn(&(String, String)) -> String| {
            self.settings.iter().map(pair).collect::<Vec<_>>().join(between)
        };
        match self.kind {
            _ if self.settings.is_empty() => Vec::new(),
            // Without `abort_conf`, jemalloc would only grumble about a setting that it does not know, and go on.
            Kind::Jemalloc => {
                let settings = joined(",", |(key, value)| format!("{key}:{value}"));
                vec![("_RJEM_MALLOC_CONF".to_owned(), format!("abort_conf:true,{settings}"))]
            }
            Kind::Glibc => {
                vec![("GLIBC_TUNABLES".to_owned(), joined(":", |(key, value)| format!("glibc.malloc.{key}={value}")))]
            }
            Kind::Mimalloc => {
                let variable =
                    |(key, value): &(String, String)| (format!("MIMALLOC_{}", key.to_ascii_uppercase()), value.clone());
                self.settings.iter().map(variable).collect()
            }
        }
    }

    /// The text as part of a file's name.
    pub(crate) fn file_name(&self) -> String {
        self.text.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' }).collect()
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        let (name, settings) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let Some(&(_, kind, _)) = KINDS.iter().find(|(known, _, _)| *known == name) else {
            let known: Vec<&str> = KINDS.iter().map(|(known, _, _)| *known).collect();
            return Err(format!("no such allocator; give one of {}", known.join(", ")));
        };
        let pair = |setting: &str| match setting.split_once(':') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(format!("`{setting}` is no setting; write {name}:KEY:VALUE, and + between several")),
        };
        let settings: Vec<(String, String)> =
            settings.map_or(Ok(Vec::new()), |settings| settings.split('+').map(pair).collect())?;
        let known: &[&str] = match kind {
            // jemalloc itself refuses what it does not know.
            Kind::Jemalloc => &[],
            Kind::Glibc => &GLIBC_SETTINGS,
            Kind::Mimalloc => &MIMALLOC_SETTINGS,
        };
        if let Some((key, _)) = settings.iter().find(|(key, _)| !known.is_empty() && !known.contains(&key.as_str())) {
            return Err(format!("{name} has no setting `{key}` that is known here; give one of {}", known.join(", ")));
        }
        Ok(Spec { text: text.to_owned(), kind, settings })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the environment of `text` is, as `NAME=VALUE`.
    fn environment(text: &str) -> Vec<String> {
        let spec: Spec = text.parse().expect("a known allocator");
        spec.environment().into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn settings_go_where_the_allocator_reads_them() {
        assert_eq!(environment("jemalloc"), [""; 0]);
        assert_eq!(
            environment("jemalloc:dirty_decay_ms:0+muzzy_decay_ms:-1"),
            ["_RJEM_MALLOC_CONF=abort_conf:true,dirty_decay_ms:0,muzzy_decay_ms:-1"]
        );
        assert_eq!(
            environment("glibc:arena_max:1+mmap_threshold:65536"),
            ["GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=65536"]
        );
        assert_eq!(environment("mimalloc:purge_delay:0"), ["MIMALLOC_PURGE_DELAY=0"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let problem = |text: &str| text.parse::<Spec>().expect_err("refused");
        assert_eq!(problem("tcmalloc"), "no such allocator; give one of jemalloc, glibc, mimalloc");
        assert!(problem("jemalloc:dirty").starts_with("`dirty` is no setting; write jemalloc:KEY:VALUE"));
        assert!(problem("glibc:arenas:1").contains("no setting `arenas` that is known here; give one of arena_max,"));
    }

    #[test]
    fn a_binary_each_and_a_file_name_each() {
        let spec: Spec = "mimalloc:purge_delay:0".parse().expect("known");
        assert_eq!((spec.program(), spec.file_name().as_str()), ("trainer-mimalloc", "mimalloc-purge_delay-0"));
    }
}
