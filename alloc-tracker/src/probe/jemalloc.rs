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
        let pages = |name| Ok(size(b"arenas.page\0")? * of_arena(arena, name)?);
        let allocated = of_arena(arena, "small.allocated")? + of_arena(arena, "large.allocated")?;
        Ok(Free {
            cached: of_arena(arena, "tcache_bytes")?,
            slack: pages("pactive")?.saturating_sub(allocated),
            dirty: pages("pdirty")?,
            muzzy: pages("pmuzzy")?,
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
    let (base, internal) = (of_arena(ALL, "base")?, of_arena(ALL, "internal")?);
    let claim = |name, bytes, source| Claim { name, bytes, source };
    let programs = |name, of: fn(Free) -> u64, source| claim(name, of(all).saturating_sub(of(trackers)), source);
    Ok(Claims {
        // What is `internal` lies in active pages.
        claimed: extents()? + base,
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
    Some(extents().ok()? + of_arena(ALL, "base").ok()?)
}

/// Pages in use, dirty and muzzy, in bytes: all that jemalloc has claimed but its tables.
fn extents() -> tikv_jemalloc_ctl::Result<u64> {
    let free = of_arena(ALL, "pdirty")? + of_arena(ALL, "pmuzzy")?;
    Ok(stats::active::read()? as u64 + size(b"arenas.page\0")? * free)
}

/// A statistic of one arena, or of [`ALL`].
fn of_arena(arena: u32, name: &str) -> tikv_jemalloc_ctl::Result<u64> {
    size(format!("stats.arenas.{arena}.{name}\0").as_bytes())
}

/// One of jemalloc's numbers of type size_t.
fn size(name: &[u8]) -> tikv_jemalloc_ctl::Result<u64> {
    // SAFETY: all statistics that callers name are of type size_t (jemalloc(3), "stats.arenas.<i>.*").
    unsafe { raw::read::<usize>(name) }.map(|bytes| bytes as u64)
}

/// Whether an anonymous mapping is one of jemalloc's. `unreserved` says that it was mapped with MAP_NORESERVE, as
/// jemalloc maps where the kernel lets it, and hardly anybody else; so such mappings do not merge with others. That
/// alone is no proof: an extent of jemalloc's must begin or end the mapping, or the mapping has the form of its tables.
pub fn owns(range: &Range, unreserved: bool) -> bool {
    let extent = |address: usize| jemalloc::owns(address as *const u8);
    let tables = || tables_mapped().unwrap_or_default() as usize;
    extent(range.start)
        || extent(range.end - page_bytes())
        || (unreserved && has_form_of_base(range) && begins_with_tables(range, tables(), extent))
}

/// Tables lie in blocks of whole huge pages.
const HUGE: usize = 2 << 20;

/// Whether [`owns`] needs to know of a mapping if it was mapped with MAP_NORESERVE.
pub fn has_form_of_base(range: &Range) -> bool {
    range.start.is_multiple_of(HUGE) && range.len().is_multiple_of(HUGE)
}

/// Whether `range` is tables, or begins with tables and goes on with an extent; the kernel merges their mappings. All tables are
/// `tables` bytes, and `extent` tells whether an extent begins at an address.
fn begins_with_tables(range: &Range, tables: usize, extent: impl Fn(usize) -> bool) -> bool {
    let mut ends = (range.start..range.end).step_by(HUGE).skip(1).take(tables / HUGE);
    range.len() <= tables || ends.any(extent)
}

/// The bytes of all mappings: what is in use, and what is retained for later.
///
/// # Errors
/// When jemalloc was compiled without statistics.
pub fn mapped() -> tikv_jemalloc_ctl::Result<u64> {
    epoch::advance()?;
    Ok((stats::mapped::read()? + stats::retained::read()?) as u64)
}

/// The bytes of all tables: what is mapped beside the extents.
///
/// # Errors
/// When jemalloc was compiled without statistics.
pub fn tables_mapped() -> tikv_jemalloc_ctl::Result<u64> {
    epoch::advance()?;
    Ok((stats::mapped::read()? as u64).saturating_sub(extents()?))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// It has no pages.
    #[test]
    fn what_is_kept_for_the_recorder_is_no_memory_of_its() {
        let kept = 64 << 20;
        assert!(jemalloc::keep_spare(kept));
        let of_tracker = claims().expect("jemalloc's statistics").of_tracker;
        assert!(of_tracker < kept as u64 / 2, "{of_tracker}");
    }

    /// Two blocks of tables, and an extent behind the first one or behind both.
    #[test]
    fn a_mapping_may_begin_and_end_with_tables() {
        let blocks = |from: usize, to: usize| from * HUGE..to * HUGE;
        let extents_at = |block: usize| move |address: usize| address == block * HUGE;
        assert!(begins_with_tables(&blocks(8, 10), 2 * HUGE, |_| false), "tables alone");
        assert!(!begins_with_tables(&blocks(8, 11), 2 * HUGE, |_| false), "more than all tables");
        assert!([9, 10].iter().all(|&at| begins_with_tables(&blocks(8, 100), 2 * HUGE, extents_at(at))));
        assert!(!begins_with_tables(&blocks(8, 100), 2 * HUGE, extents_at(11)), "too far from its beginning");
    }
}
