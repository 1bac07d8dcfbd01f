//! jemalloc's own statistics, through tikv-jemalloc-ctl. jemalloc updates them only when its `epoch` is advanced.
use std::collections::BTreeMap;

use alloc_timeline::Allocator;
use tikv_jemalloc_ctl::{epoch, raw, stats};

use super::claims::{CACHED, Claim, Claims, METADATA};
use super::reading::Readings;
use super::smaps::Range;
use crate::backend::jemalloc::{self, CONFIG};
use crate::sys::page_bytes;

/// Allocated, active, resident and retained bytes; nothing when jemalloc was compiled without statistics.
pub fn read() -> Readings {
    if epoch::advance().is_err() {
        return Vec::new();
    }
    let known = [
        ("jemalloc_allocated", stats::allocated::read()),
        ("jemalloc_active", stats::active::read()),
        ("jemalloc_resident", stats::resident::read()),
        ("jemalloc_retained", stats::retained::read()),
    ];
    known.map(|(name, bytes)| (name.into(), bytes.ok().map(|bytes| bytes as u64))).into()
}

/// A number of all arenas together.
macro_rules! of_all_arenas {
    ($name:literal) => {
        // 4096 is MALLCTL_ARENAS_ALL.
        concat!("stats.arenas.4096.", $name, "\0").as_bytes()
    };
}

/// What is neither a block in use nor a table of the allocator's, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Free {
    cached: u64,
    slack: u64,
    dirty: u64,
    muzzy: u64,
}

/// jemalloc's number for all arenas together (MALLCTL_ARENAS_ALL).
const ALL: u32 = 4096;

impl Free {
    /// Of one arena, or of [`ALL`].
    fn of(arena: u32) -> tikv_jemalloc_ctl::Result<Free> {
        let size = |name: &str| size(format!("stats.arenas.{arena}.{name}\0").as_bytes());
        let page = self::size(b"arenas.page\0")?;
        let allocated = size("small.allocated")? + size("large.allocated")?;
        Ok(Free {
            cached: size("tcache_bytes")?,
            slack: (page * size("pactive")?).saturating_sub(allocated),
            dirty: page * size("pdirty")?,
            muzzy: page * size("pmuzzy")?,
        })
    }

    fn sum(self) -> u64 {
        self.cached + self.slack + self.dirty + self.muzzy
    }
}

/// What jemalloc claims, by its statistics of this moment.
///
/// # Errors
/// A sentence, when jemalloc was compiled without statistics.
pub fn claims() -> Result<Claims, String> {
    read_claims().map_err(|error| format!("unavailable: jemalloc's statistics: {error}"))
}

fn read_claims() -> tikv_jemalloc_ctl::Result<Claims> {
    epoch::advance()?;
    let all = Free::of(ALL)?;
    let trackers = jemalloc::trackers_arena().map_or(Ok(Free::default()), Free::of)?;
    let (base, internal) = (size(of_all_arenas!("base"))?, size(of_all_arenas!("internal"))?);
    let claim = |name, bytes, source| Claim { name, bytes, source };
    let programs = |name, of: fn(Free) -> u64, source| claim(name, of(all).saturating_sub(of(trackers)), source);
    Ok(Claims {
        // What is `internal` lies in active pages.
        claimed: stats::active::read()? as u64 + all.dirty + all.muzzy + base,
        source: "less jemalloc's active, dirty, muzzy and base",
        lines: vec![
            programs(CACHED, |free| free.cached, "jemalloc: tcache_bytes of the program's arenas"),
            programs("slack inside slabs", |free| free.slack, "jemalloc: active - allocated of the program's arenas"),
            programs("dirty pages", |free| free.dirty, "jemalloc: pdirty of the program's arenas"),
            programs("muzzy pages", |free| free.muzzy, "jemalloc: pmuzzy of the program's arenas"),
            claim(METADATA, base + internal, "jemalloc: base + internal of all arenas, which is stats.metadata"),
        ],
        of_tracker: trackers.sum(),
    })
}

/// The sum of what jemalloc claimed when its statistics were last updated.
pub fn claimed_as_read() -> Option<u64> {
    let pages = size(of_all_arenas!("pdirty")).ok()? + size(of_all_arenas!("pmuzzy")).ok()?;
    Some(
        stats::active::read().ok()? as u64
            + size(b"arenas.page\0").ok()? * pages
            + size(of_all_arenas!("base")).ok()?,
    )
}

/// One of jemalloc's numbers of type size_t.
fn size(name: &[u8]) -> tikv_jemalloc_ctl::Result<u64> {
    // SAFETY: all statistics that callers name are of type size_t (jemalloc(3), "stats.arenas.<i>.*").
    unsafe { raw::read::<usize>(name) }.map(|bytes| bytes as u64)
}

/// Whether an anonymous mapping is one of jemalloc's. `unreserved` says that it was mapped with MAP_NORESERVE, as
/// jemalloc maps where the kernel lets it, and hardly anybody else; so such mappings do not merge with others. That
/// alone is no proof: an extent of jemalloc's must begin or end the mapping, or the mapping has the form of a block of
/// jemalloc's tables.
pub fn owns(range: &Range, unreserved: bool) -> bool {
    let extent = |address: usize| jemalloc::owns(address as *const u8);
    extent(range.start) || extent(range.end - page_bytes()) || (unreserved && is_base(range))
}

/// Whether [`owns`] needs to know of a mapping if it was mapped with MAP_NORESERVE.
pub fn has_form_of_base(range: &Range) -> bool {
    const HUGE: usize = 2 << 20;
    range.start.is_multiple_of(HUGE) && range.len().is_multiple_of(HUGE)
}

/// Blocks of tables are whole huge pages, and there are no more of them than `mapped` has beside the extents.
fn is_base(range: &Range) -> bool {
    let read = || -> Option<usize> {
        epoch::advance().ok()?;
        let size = |name: &[u8]| size(name).ok();
        let free = size(of_all_arenas!("pdirty"))? + size(of_all_arenas!("pmuzzy"))?;
        let extents = stats::active::read().ok()? as u64 + size(b"arenas.page\0")? * free;
        Some((stats::mapped::read().ok()? as u64).saturating_sub(extents) as usize)
    };
    has_form_of_base(range) && range.len() <= read().unwrap_or_default()
}

/// jemalloc's version and settings, for the timeline's head.
pub fn allocator() -> Allocator {
    let mut config = BTreeMap::new();
    config.insert("compiled_in".to_owned(), CONFIG.to_string_lossy().into_owned());
    if let Ok(set) = std::env::var("_RJEM_MALLOC_CONF") {
        config.insert("environment".to_owned(), set);
    }
    let mut number = |name: &'static [u8], key: &str| {
        // SAFETY: these three settings are of type ssize_t or size_t, both as wide as isize (jemalloc(3), "opt.*").
        if let Ok(value) = unsafe { raw::read::<isize>(name) } {
            config.insert(key.to_owned(), value.to_string());
        }
    };
    number(b"opt.dirty_decay_ms\0", "dirty_decay_ms");
    number(b"opt.muzzy_decay_ms\0", "muzzy_decay_ms");
    number(b"opt.oversize_threshold\0", "oversize_threshold");
    let version = tikv_jemalloc_ctl::version::read().unwrap_or_default().trim_end_matches('\0').to_owned();
    Allocator { backend: "jemalloc".to_owned(), version, config, doors: Vec::new() }
}
