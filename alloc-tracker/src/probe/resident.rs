//! Which pages of a range are resident, page by page, from /proc/self/pagemap
//! (Documentation/admin-guide/mm/pagemap.rst: bit 63 of an entry says that the page is present).
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::sys::page_bytes;

/// The open file /proc/self/pagemap. We read it without procfs, which would make a list of all pages before we can
/// count them.
pub struct Pagemap {
    file: File,
    page_bytes: u64,
}

impl Pagemap {
    /// Opens the file; `None` when that fails.
    pub fn open() -> Option<Self> {
        Some(Pagemap { file: File::open("/proc/self/pagemap").ok()?, page_bytes: page_bytes() as u64 })
    }

    /// Resident bytes of the pages that lie wholly or partly in `start..end`.
    pub fn resident(&self, start: usize, end: usize) -> u64 {
        let (first, last) = (start as u64 / self.page_bytes, (end as u64).div_ceil(self.page_bytes));
        let mut present = 0;
        let mut entries = [0u8; 8 * 512];
        let mut page = first;
        while page < last {
            let wanted = ((last - page) as usize).min(512) * 8;
            match self.file.read_at(&mut entries[..wanted], page * 8) {
                Ok(got) if got >= 8 => {
                    // The kernel writes native 64-bit words.
                    let words = entries[..got].chunks_exact(8);
                    present += words.filter(|word| is_present(word)).count() as u64;
                    page += got as u64 / 8;
                }
                _ => break,
            }
        }
        present * self.page_bytes
    }
}

fn is_present(word: &[u8]) -> bool {
    word.try_into().is_ok_and(|bytes| u64::from_ne_bytes(bytes) >> 63 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_are_resident_and_others_are_not() {
        let Some(pagemap) = Pagemap::open() else {
            println!("SKIPPED: no /proc/self/pagemap");
            return;
        };
        let page = page_bytes();
        let start = crate::sys::map_zeroed(64 * page);
        for index in 0..10 {
            // SAFETY: the mapping has 64 pages, and it is this test's own.
            unsafe { start.add(index * page).write(1) };
        }
        assert_eq!(pagemap.resident(start.addr(), start.addr() + 64 * page), 10 * page as u64);
    }
}
