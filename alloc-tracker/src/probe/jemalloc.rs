//! jemalloc's own statistics, through tikv-jemalloc-ctl. jemalloc updates them only when its `epoch` is advanced.
use std::collections::BTreeMap;

use alloc_timeline::Allocator;
use tikv_jemalloc_ctl::{epoch, raw, stats};

use super::reading::Readings;
use crate::backend::jemalloc::CONFIG;

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

/// jemalloc's allocated and resident bytes now; `None` when jemalloc was compiled without statistics.
pub fn allocated_and_resident() -> Option<(u64, u64)> {
    epoch::advance().ok()?;
    Some((stats::allocated::read().ok()? as u64, stats::resident::read().ok()? as u64))
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
