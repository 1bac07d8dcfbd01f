//! Asks the kernel which pages of a range are present, and which are its page of zeroes: `ioctl(PAGEMAP_SCAN)` on /proc/self/pagemap,
//! from Linux 6.7 on (Documentation/admin-guide/mm/pagemap.rst; include/uapi/linux/fs.h). In memory that is in use, to find
//! pages of zeroes takes about as long as `mincore`, to find all that are present five times as long; where most pages were never touched, a
//! quarter and a half.
//!
//! The words of /proc/self/pagemap do not tell the page of zeroes from a page that is shared with a forked child.
use std::fs::File;
use std::os::fd::AsRawFd;

use super::smaps::Range;

/// `_IOWR('f', 16, struct pm_scan_arg)`, the same number on x86-64 and aarch64.
const PAGEMAP_SCAN: u64 = 3 << 30 | (size_of::<Argument>() as u64) << 16 | (b'f' as u64) << 8 | 16;
const IS_PRESENT: u64 = 1 << 3;
const IS_ZEROES: u64 = 1 << 5;
/// So many runs of like pages are asked for at once.
const RUNS: usize = 128;

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Argument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    /// Where the kernel stopped.
    walk_end: u64,
    runs: u64,
    runs_length: u64,
    max_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    told: u64,
}

/// `struct page_region`: adjacent pages that are alike.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Run {
    start: u64,
    end: u64,
    categories: u64,
}

/// Whether the kernel can scan; `pagemap` is /proc/self/pagemap.
pub fn is_possible(pagemap: &File) -> bool {
    zeroes(pagemap, &(0..0)).is_some()
}

/// The bytes of `range`, which begins and ends at pages, that are the kernel's page of zeroes; what is not mapped has none. `None`
/// where the kernel cannot scan.
pub fn zeroes(pagemap: &File, range: &Range) -> Option<u64> {
    let mut bytes = 0;
    scan(pagemap, range, IS_ZEROES, |run| bytes += run.end - run.start)?;
    Some(bytes)
}

/// The same of the bytes that are present, and of those of them that are pages of zeroes.
pub fn present_and_zeroes(pagemap: &File, range: &Range) -> Option<[u64; 2]> {
    let (mut present, mut zeroes) = (0, 0);
    scan(pagemap, range, IS_PRESENT, |run| {
        let bytes = run.end - run.start;
        present += bytes;
        zeroes += if run.categories & IS_ZEROES != 0 { bytes } else { 0 };
    })?;
    Some([present, zeroes])
}

/// Calls `told` with each run of pages of a category.
fn scan(pagemap: &File, range: &Range, category: u64, mut told: impl FnMut(&Run)) -> Option<()> {
    let mut runs = [Run::default(); RUNS];
    let mut start = range.start as u64;
    loop {
        let mut argument = Argument {
            size: size_of::<Argument>() as u64,
            start,
            end: range.end as u64,
            runs: runs.as_mut_ptr().addr() as u64,
            runs_length: RUNS as u64,
            all_of: category,
            told: IS_PRESENT | IS_ZEROES,
            ..Argument::default()
        };
        // SAFETY: the argument is as the kernel's header has it, and says how many runs there is room for; the kernel writes to
        // both and to nothing else.
        let found = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut argument) };
        runs[..usize::try_from(found).ok()?.min(RUNS)].iter().for_each(&mut told);
        if argument.walk_end >= range.end as u64 || argument.walk_end <= start {
            return Some(());
        }
        start = argument.walk_end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{map_zeroed, page_bytes};

    /// Every second page of 1,024 is read, and one of the others is written: 512 runs of a page.
    #[test]
    fn more_runs_than_the_kernel_tells_at_once() {
        let pagemap = File::open("/proc/self/pagemap").expect("pagemap");
        if !is_possible(&pagemap) {
            return println!("SKIPPED: the kernel has no PAGEMAP_SCAN");
        }
        let page = page_bytes();
        let start = map_zeroed(1_024 * page);
        // SAFETY: the mapping has 1,024 pages, and it is this test's own.
        (0..1_024).step_by(2).for_each(|index| unsafe { _ = start.add(index * page).read_volatile() });
        // SAFETY: as above.
        unsafe { start.add(301 * page).write_volatile(1) };
        let range = start.addr()..start.addr() + 1_024 * page;
        let bytes = |pages: usize| (pages * page) as u64;
        assert_eq!(zeroes(&pagemap, &range), Some(bytes(512)));
        assert_eq!(present_and_zeroes(&pagemap, &range), Some([bytes(513), bytes(512)]));
    }

    #[test]
    fn another_file_cannot_be_scanned() {
        assert_eq!(zeroes(&File::open("/proc/self/statm").expect("statm"), &(0..0)), None);
    }
}
