//! The C library's own statistics of its allocator: `mallinfo2`, which glibc has since 2.33.
use std::collections::BTreeMap;

use alloc_timeline::Allocator;

use super::reading::Readings;

/// The statistics that we use, in bytes.
struct Info {
    /// What glibc has got from the kernel for blocks, resident or not.
    held: u64,
    /// The part of it that is in blocks, with their headers.
    in_use: u64,
}

#[cfg(target_env = "gnu")]
fn info() -> Option<Info> {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr()) };
    if found.is_null() {
        return None;
    }
    // SAFETY: the symbol of this name has this type in glibc.
    let mallinfo2: unsafe extern "C" fn() -> libc::mallinfo2 = unsafe { std::mem::transmute(found) };
    // SAFETY: mallinfo2 takes no arguments and may be called from any thread. It locks one arena after the other; no
    // caller of `info` runs inside of the allocator, so none of them holds such a lock.
    let info = unsafe { mallinfo2() };
    let mapped = info.hblkhd as u64;
    Some(Info { held: info.arena as u64 + mapped, in_use: info.uordblks as u64 + mapped })
}

#[cfg(not(target_env = "gnu"))]
fn info() -> Option<Info> {
    None
}

/// The bytes that glibc has got from the kernel, resident or not. `None` where the C library has no `mallinfo2`.
pub fn held() -> Option<u64> {
    info().map(|info| info.held)
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
