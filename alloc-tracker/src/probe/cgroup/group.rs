//! This process's control group and its ancestors, with their files opened once and read again and again.
//!
//! A file of a group that is removed can be read no more: such a reading is `None`, and so is every other one that fails.
use std::path::{Path, PathBuf};

use alloc_timeline::kept_file::{KeptFile, read_text};

use super::files::{NO_LIMIT, Version, limit, number, stalled_ns};
use super::place::{self, Place};
use super::stat::Stat;

/// The group and its ancestors as far as they are visible here, the group first.
#[derive(Debug)]
pub struct Group {
    version: Version,
    levels: Vec<Level>,
    /// The least limit of all ancestors, when it is less than that of each that is visible: version 1 alone tells.
    hidden_limit: Option<u64>,
}

/// One group of the lineage.
#[derive(Debug)]
pub struct Level {
    folder: PathBuf,
    version: Version,
    usage: Option<KeptFile>,
    limit: Option<KeptFile>,
}

/// The tightest limit that holds for a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tightest {
    /// The limit in bytes.
    pub bytes: u64,
    /// Whether it is an ancestor's.
    pub is_ancestors: bool,
    /// What the group with this limit uses. `None` where that cannot be read.
    pub usage: Option<u64>,
    /// The file that has the limit.
    pub source: String,
}

impl Group {
    /// Finds the group of this process and opens its files.
    ///
    /// # Errors
    /// The reason why there is no such group, as a part of a sentence.
    pub fn open() -> Result<Self, String> {
        let text = |path: &str| read_text(path).map_err(|error| format!("{path}: {error}"));
        let place = place::find(&text("/proc/self/cgroup")?, &text("/proc/self/mountinfo")?)?;
        Self::at(&place)
    }

    /// Opens the files of the group at `place`.
    ///
    /// # Errors
    /// When the group's use cannot be read.
    pub fn at(place: &Place) -> Result<Self, String> {
        let all = place.lineage().map(|folder| Level::open(folder, place.version));
        // Of version 2, a group without the memory controller has no such files. What it uses is charged to the nearest one above that has it.
        let levels: Vec<Level> =
            all.skip_while(|level| place.version == Version::Two && level.usage.is_none()).collect();
        let own = levels.first().filter(|level| level.usage().is_some());
        let own = own.ok_or_else(|| {
            // The root of version 2 has no such files: there, the machine's memory is the group's.
            format!("{}/{} cannot be read", place.folder.display(), place.version.names().usage)
        })?;
        let hidden = own.stat().and_then(|stat| stat.limit());
        let visible = levels.iter().filter_map(Level::limit).min();
        let hidden_limit = hidden.filter(|&hidden| visible.is_none_or(|visible| hidden < visible));
        Ok(Group { version: place.version, levels, hidden_limit })
    }

    /// Which version the group is of.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The group to which this process's memory is charged, not its ancestors.
    pub fn own(&self) -> &Level {
        &self.levels[0]
    }

    /// The group's ancestors and itself, the group first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The tightest limit of the group and its ancestors; `None` where there is no limit.
    pub fn tightest(&self) -> Option<Tightest> {
        let name = self.version.names().limit;
        let limits = self.levels.iter().enumerate();
        let limits = limits.filter_map(|(number, level)| Some((level.limit()?, number, level)));
        // Of equal ones the group's own.
        let least = limits.min_by_key(|(bytes, ..)| *bytes).map(|(bytes, number, level)| Tightest {
            bytes,
            is_ancestors: number > 0,
            usage: level.usage(),
            source: level.path(name).display().to_string(),
        });
        let hidden = self.hidden_limit.map(|bytes| Tightest {
            bytes,
            is_ancestors: true,
            usage: None,
            source: format!("hierarchical_memory_limit of {}", self.own().path("memory.stat").display()),
        });
        least.into_iter().chain(hidden).min_by_key(|tightest| tightest.bytes)
    }

    /// The least limit of ancestors that are not visible here, when it is the tightest.
    pub fn hidden_limit(&self) -> Option<u64> {
        self.hidden_limit
    }
}

impl Level {
    fn open(folder: &Path, version: Version) -> Self {
        let names = version.names();
        let [usage, limit] = [names.usage, names.limit].map(|name| KeptFile::open(folder.join(name)).ok());
        Level { folder: folder.to_owned(), version, usage, limit }
    }

    /// The group's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of one of the group's files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The bytes that the group uses now.
    pub fn usage(&self) -> Option<u64> {
        self.usage.as_ref().and_then(short_text).and_then(|text| number(&text))
    }

    /// The group's own limit; `None` where it has none, or it cannot be read.
    pub fn limit(&self) -> Option<u64> {
        let bytes = self.limit.as_ref().and_then(short_text).and_then(|text| limit(&text));
        bytes.filter(|&bytes| bytes != NO_LIMIT)
    }

    /// What the group's memory consists of.
    pub fn stat(&self) -> Option<Stat> {
        Stat::parse(self.version, &self.text("memory.stat")?)
    }

    /// The number in one of the group's files.
    pub fn number(&self, name: &str) -> Option<u64> {
        number(&self.text(name)?)
    }

    /// How often the group was at its limit since it was made.
    pub fn hits(&self) -> Option<u64> {
        self.version.hits(&self.text(self.version.names().hits)?)
    }

    /// For how many nanoseconds some process of the group has waited for memory; version 1 has no such file.
    pub fn stalled_ns(&self) -> Option<u64> {
        stalled_ns(&self.text("memory.pressure")?)
    }

    fn text(&self, name: &str) -> Option<String> {
        read_text(self.path(name)).ok()
    }
}

/// The text of an open file that holds one number.
fn short_text(file: &KeptFile) -> Option<String> {
    let mut text = [0; 32];
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/cgroup/v2");

    /// A made-up hierarchy: the limits of `top` and `top/inner`, and 100 bytes in use in each.
    fn hierarchy(limits: [&str; 2]) -> (tempfile::TempDir, Place) {
        let mount = tempfile::tempdir().expect("a folder");
        let folder = mount.path().join("top/inner");
        std::fs::create_dir_all(&folder).expect("folders");
        let place = Place { version: Version::Two, mount: mount.path().to_owned(), folder };
        for (folder, limit) in place.lineage().zip(limits.into_iter().rev()) {
            std::fs::write(folder.join("memory.current"), "100\n").expect("a file");
            std::fs::write(folder.join("memory.max"), limit).expect("a file");
        }
        (mount, place)
    }

    #[test]
    fn the_tightest_limit_may_be_an_ancestors() {
        let (mount, place) = hierarchy(["500\n", "1000\n"]);
        let group = Group::at(&place).expect("a group");
        let source = mount.path().join("top/memory.max").display().to_string();
        assert_eq!(group.tightest(), Some(Tightest { bytes: 500, is_ancestors: true, usage: Some(100), source }));
        assert_eq!((group.own().limit(), group.levels().len()), (Some(1_000), 3));
        let (_mount, place) = hierarchy(["max\n", "max\n"]);
        assert_eq!(Group::at(&place).expect("a group").tightest(), None);
    }

    #[test]
    fn a_group_without_the_memory_controller_is_charged_to_the_one_above() {
        let (_mount, place) = hierarchy(["500\n", "1000\n"]);
        for name in ["memory.current", "memory.max"] {
            std::fs::remove_file(place.folder.join(name)).expect("removed");
        }
        let group = Group::at(&place).expect("the one above");
        assert_eq!((group.own().usage(), group.own().limit(), group.levels().len()), (Some(100), Some(500), 2));
        assert_eq!(group.tightest().map(|tightest| (tightest.bytes, tightest.is_ancestors)), Some((500, false)));
    }

    /// Version 1 says what ancestors allow that a container cannot see.
    #[test]
    fn a_hidden_ancestors_limit_counts() {
        let (mount, place) = hierarchy(["max\n", "max\n"]);
        let place = Place { version: Version::One, ..place };
        let limited = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/cgroup/v1-limited");
        for name in ["memory.stat", "memory.usage_in_bytes"] {
            std::fs::copy(format!("{limited}/{name}"), place.folder.join(name)).expect("a copy");
        }
        let group = Group::at(&place).expect("a group");
        let tightest = group.tightest().expect("a limit");
        assert_eq!((tightest.bytes, tightest.usage, group.hidden_limit()), (64 << 20, None, Some(64 << 20)));
        assert!(tightest.source.starts_with("hierarchical_memory_limit of"), "{}", tightest.source);
        drop(mount);
    }

    #[test]
    fn files_that_vanish_say_nothing() {
        let (mount, place) = hierarchy(["500\n", "1000\n"]);
        let group = Group::at(&place).expect("a group");
        std::fs::write(place.folder.join("memory.current"), "").expect("emptied");
        std::fs::write(place.folder.join("memory.max"), "lots").expect("overwritten");
        assert_eq!((group.own().usage(), group.own().limit(), group.own().stat()), (None, None, None));
        assert_eq!((group.own().hits(), group.own().stalled_ns()), (None, None));
        drop(mount);
        let reason = Group::at(&place).expect_err("it is gone");
        assert!(reason.ends_with("top/inner/memory.current cannot be read"), "{reason}");
    }

    #[test]
    fn the_files_of_version_2() {
        let group = Level::open(Path::new(V2), Version::Two);
        assert_eq!((group.usage(), group.limit()), (Some(483_926_016), Some(512 << 20)));
        assert_eq!((group.hits(), group.stalled_ns()), (Some(212), Some(48_211_000)));
        assert_eq!(
            (group.number("memory.peak"), group.number("memory.swap.current")),
            (Some(501_219_328), Some(12_288))
        );
    }
}
