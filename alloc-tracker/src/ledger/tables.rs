//! The large tables of this floor and of those below, in the executable's own zero-initialised data. A program touches a few entries
//! of each, here and there.
use std::sync::atomic::{AtomicBool, Ordering};

use super::{stopwatch, totals};
use crate::event::ring;
use crate::tag::{page_bins, shadow, tiny};
use crate::{scope, sys};

/// Whether the kernel may make huge pages of the tables. (It is true at first so that it lies apart from all that is zero at first: to
/// write one byte there makes a huge page, with all that lies beside it.)
static MAY_BE_HUGE: AtomicBool = AtomicBool::new(true);

/// The addresses that the tables occupy.
pub fn ranges() -> [(usize, usize); 14] {
    let [shortest, small, pages] = shadow::ranges();
    let [tags, pairs] = tiny::ranges();
    let [names, scopes, kinds, marks, changes] = scope::ranges();
    let [bins, ring, totals, watches] = [page_bins::range(), ring::range(), totals::range(), stopwatch::range()];
    [shortest, small, pages, tags, pairs, bins, names, scopes, kinds, marks, changes, ring, totals, watches]
}

/// Sees to it, once, that the kernel makes no huge pages of the tables, of which one touched entry would make 2 MiB resident, or 32
/// where pages have 16 KiB. To be called before the process has touched any zero-initialised data, as far as that is to be had: before
/// its first allocation.
#[inline]
pub fn keep_pages_small() {
    if MAY_BE_HUGE.load(Ordering::Relaxed) {
        refuse_huge_pages();
    }
}

#[cold]
fn refuse_huge_pages() {
    for (start, end) in ranges() {
        sys::keep_pages_small(start, end);
    }
    MAY_BE_HUGE.store(false, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The kernel's flags of the mapping that `address` lies in, as /proc/self/smaps writes them.
    fn flags_of(smaps: &str, address: usize) -> Option<&str> {
        let mut is_there = false;
        smaps.lines().find_map(|line| {
            if let Some((start, end)) = line.split(' ').next().and_then(|word| word.split_once('-')) {
                let address_of = |digits| usize::from_str_radix(digits, 16).expect("an address");
                is_there = (address_of(start)..address_of(end)).contains(&address);
            }
            line.strip_prefix("VmFlags:").filter(|_| is_there)
        })
    }

    #[test]
    fn the_kernel_makes_no_huge_pages_of_them() {
        if fs::metadata("/sys/kernel/mm/transparent_hugepage").is_err() {
            println!("skipped: this kernel makes no huge pages");
            return;
        }
        keep_pages_small();
        let smaps = fs::read_to_string("/proc/self/smaps").expect("the mappings");
        for (start, end) in ranges() {
            for address in [start, end - 1] {
                let flags = flags_of(&smaps, address);
                assert!(flags.is_some_and(|flags| flags.contains(" nh")), "{address:#x}: {flags:?}");
            }
        }
    }
}
