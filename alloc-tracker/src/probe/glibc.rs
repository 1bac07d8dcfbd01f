//! The C library's own statistics of its allocator: `mallinfo2`, which glibc has since 2.33.
use std::collections::BTreeMap;
#[cfg(target_env = "gnu")]
use std::sync::OnceLock;

use alloc_timeline::Allocator;

use super::claims::{CACHED, Claim, Claims, METADATA};
use super::reading::Readings;
use super::smaps::Range;
use crate::sys::page_bytes;
use crate::tag;

/// The statistics that we use, in bytes.
struct Info {
    /// What glibc has got from the kernel for blocks, resident or not.
    held: u64,
    /// The part of it that is in blocks, with their headers.
    in_use: u64,
    /// The part of the rest that is in fastbins.
    fast: u64,
}

#[cfg(target_env = "gnu")]
fn info() -> Option<Info> {
    // Looked up by the thread that starts the first session: it may have the loader's lock, for which another would wait.
    static FOUND: OnceLock<usize> = OnceLock::new();
    // SAFETY: the name is a C string.
    let found = *FOUND.get_or_init(|| unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr()) }.addr());
    if found == 0 {
        return None;
    }
    // SAFETY: the symbol of this name has this type in glibc.
    let mallinfo2: unsafe extern "C" fn() -> libc::mallinfo2 = unsafe { std::mem::transmute(found) };
    // SAFETY: mallinfo2 takes no arguments and may be called from any thread. It locks one arena after the other; no
    // caller of `info` runs inside of the allocator, so none of them holds such a lock.
    let info = unsafe { mallinfo2() };
    let mapped = info.hblkhd as u64;
    Some(Info { held: info.arena as u64 + mapped, in_use: info.uordblks as u64 + mapped, fast: info.fsmblks as u64 })
}

#[cfg(not(target_env = "gnu"))]
fn info() -> Option<Info> {
    None
}

/// What glibc claims; `blocks` is the number of live blocks by the ledger.
///
/// # Errors
/// A sentence, where the C library has no `mallinfo2`.
pub fn claims(blocks: u64) -> Result<Claims, String> {
    let info = info().ok_or("unavailable: this C library has no mallinfo2")?;
    let claim = |name, bytes, source| Claim { name, bytes, source };
    let free = info.held - info.in_use;
    Ok(Claims {
        claimed: info.held,
        source: "less mallinfo2: arena + hblkhd",
        lines: vec![
            claim(CACHED, info.fast, "mallinfo2: fsmblks (fastbins); glibc does not count the caches of its threads"),
            claim("free memory of the allocator", free - info.fast.min(free), "mallinfo2: fordblks - fsmblks"),
            claim(METADATA, blocks * HEADER, "a size field for each live block of the ledger"),
        ],
        of_tracker: 0,
    })
}

/// The bytes before each block that hold its size.
const HEADER: u64 = size_of::<usize>() as u64;
/// The alignment of the heaps of arenas other than the first (HEAP_MAX_SIZE on 64-bit machines).
const ARENA: usize = 64 << 20;

/// The parts of an anonymous mapping that are glibc's: the heap of an arena as a whole, and blocks that have a mapping of
/// their own. `unreserved` says that it was mapped with MAP_NORESERVE, as heaps are. The mappings of single blocks merge
/// with their neighbours; so each page is asked whether such a block begins there.
pub fn ranges_in(range: &Range, unreserved: bool) -> Vec<Range> {
    if range.start.is_multiple_of(ARENA) && unreserved {
        return vec![range.clone()];
    }
    let page = page_bytes();
    let mut found = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let Some(end) = block_end(start, page) else {
            start += page;
            continue;
        };
        let end = end.next_multiple_of(page).min(range.end);
        found.push(start..end);
        start = end;
    }
    found
}

/// The end of a block of a page or more that begins in the page at `start`: behind its two size fields, or where its
/// alignment put it. Smaller blocks lie in arenas.
fn block_end(start: usize, page: usize) -> Option<usize> {
    let alignments = std::iter::successors(Some(2 * HEADER as usize), |&bytes| (2 * bytes < page).then_some(2 * bytes));
    let mut places = std::iter::once(0).chain(alignments).map(|offset| start + offset);
    places.find_map(|place| {
        let (_, tag) = tag::block::find(place)?;
        (tag.requested() >= page).then(|| place + tag.requested())
    })
}

/// The bytes that glibc has got from the kernel, and those of them that are in use; nothing where there is no
/// `mallinfo2`.
pub fn read() -> Readings {
    let columns = |info: Info| vec![("glibc_held".into(), Some(info.held)), ("glibc_in_use".into(), Some(info.in_use))];
    info().map_or_else(Vec::new, columns)
}

/// The C library's version and the allocator's settings in the environment, for the timeline's head.
pub fn allocator() -> Allocator {
    let is_setting = |name: &str| name == "GLIBC_TUNABLES" || name.starts_with("MALLOC_");
    let mut config: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| is_setting(name))
        .collect();
    if info().is_none() {
        config.insert("statistics".to_owned(), "unavailable: this C library has no mallinfo2".to_owned());
    }
    Allocator { backend: "system".to_owned(), version: version(), config, doors: Vec::new() }
}

#[cfg(target_env = "gnu")]
fn version() -> String {
    // SAFETY: the result is a C string constant of the C library.
    let number = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", number.to_string_lossy())
}

#[cfg(not(target_env = "gnu"))]
fn version() -> String {
    String::new()
}
