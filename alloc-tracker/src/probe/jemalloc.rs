//! jemalloc's own statistics, through tikv-jemalloc-ctl. jemalloc updates them only when its `epoch` is advanced.
use std::collections::BTreeMap;

use alloc_timeline::Allocator;
use tikv_jemalloc_ctl::{epoch, raw, stats};

use super::claims::{CACHED, Claim, Claims, METADATA};
use super::reading::Readings;
use super::smaps::Range;
use crate::backend::{self, jemalloc::CONFIG};
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

/// What jemalloc claims, by its statistics of this moment.
///
/// # Errors
/// A sentence, when jemalloc was compiled without statistics.
pub fn claims() -> Result<Claims, String> {
    let missing = |error: tikv_jemalloc_ctl::Error| format!("unavailable: jemalloc's statistics: {error}");
    epoch::advance().map_err(missing)?;
    let size = |name: &'static [u8]| size(name).map_err(missing);
    let allocated = stats::allocated::read().map_err(missing)? as u64;
    let active = stats::active::read().map_err(missing)? as u64;
    let page = size(b"arenas.page\0")?;
    let dirty = page * size(of_all_arenas!("pdirty"))?;
    let muzzy = page * size(of_all_arenas!("pmuzzy"))?;
    let (base, internal) = (size(of_all_arenas!("base"))?, size(of_all_arenas!("internal"))?);
    let claim = |name, bytes, source| Claim { name, bytes, source };
    Ok(Claims {
        // What is `internal` lies in active pages.
        claimed: active + dirty + muzzy + base,
        source: "less jemalloc's active, dirty, muzzy and base",
        lines: vec![
            claim(CACHED, size(of_all_arenas!("tcache_bytes"))?, "jemalloc: tcache_bytes of all arenas"),
            claim("slack inside slabs", active.saturating_sub(allocated), "jemalloc: stats.active - stats.allocated"),
            claim("dirty pages", dirty, "jemalloc: pdirty of all arenas"),
            claim("muzzy pages", muzzy, "jemalloc: pmuzzy of all arenas"),
            claim(METADATA, base + internal, "jemalloc: base + internal of all arenas, which is stats.metadata"),
        ],
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
fn size(name: &'static [u8]) -> tikv_jemalloc_ctl::Result<u64> {
    // SAFETY: all statistics that callers name are of type size_t (jemalloc(3), "stats.arenas.<i>.*").
    unsafe { raw::read::<usize>(name) }.map(|bytes| bytes as u64)
}

/// Whether an anonymous mapping is one of jemalloc's. `unreserved` says that it was mapped with MAP_NORESERVE, as
/// jemalloc maps where the kernel lets it, and hardly anybody else; so such mappings do not merge with others. That
/// alone is no proof: an extent of jemalloc's must begin or end the mapping, or the mapping has the form of a block of
/// jemalloc's tables.
pub fn owns(range: &Range, unreserved: bool) -> bool {
    let extent = |address: usize| backend::jemalloc::owns(address as *const u8);
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
        let size = |name: &'static [u8]| size(name).ok();
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
