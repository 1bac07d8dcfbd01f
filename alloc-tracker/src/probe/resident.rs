//! Which pages of a range are resident, page by page: from /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst),
//! or from `mincore`.
//!
//! A page that the program has read and never written is the kernel's one page of zeroes. It is present, but the kernel
//! does not count it as resident. There are three instruments, of which each serves where the one before is missing:
//!
//! ```text
//! a scan (Linux 6.7)    tells such pages from all others
//! the words of pagemap  tell that a page is mapped once; others are pages of zeroes, or shared with a forked child
//! mincore               tells only that a page is present
//! ```
use alloc_timeline::kept_file::KeptFile;

use super::page_scan;
use super::smaps::Range;
use crate::sys::page_bytes;

/// So many pages are read from pagemap at once: those of a page of the kernel's table.
const BLOCK: u64 = 512;

/// The open file /proc/self/pagemap, or `mincore` in its place where that cannot be read. We read it without procfs,
/// which would make a list of all pages before we can count them.
#[derive(Debug)]
pub struct Pagemap {
    file: Option<KeptFile>,
    scans: bool,
    page_bytes: u64,
}

impl Pagemap {
    /// Opens the file.
    pub fn open() -> Self {
        let file = KeptFile::open("/proc/self/pagemap").ok();
        let scans = file.as_ref().and_then(KeptFile::own).is_some_and(page_scan::is_possible);
        Pagemap { file, scans, page_bytes: page_bytes() as u64 }
    }

    /// Which instrument counts the pages.
    pub fn source(&self) -> &'static str {
        match self.file {
            Some(_) => "/proc/self/pagemap",
            None => "mincore (with pages of zeroes, because /proc/self/pagemap cannot be read)",
        }
    }

    /// The bytes of `ranges`, which begin and end at pages, that are pages of zeroes; `None` where only words or `mincore` tell.
    pub fn zeroes(&self, ranges: &[Range]) -> Option<u64> {
        let file = self.scannable()?;
        ranges.iter().map(|range| page_scan::zeroes(file, range)).sum()
    }

    /// Whether a scan tells pages of zeroes from all others.
    pub fn scans(&self) -> bool {
        self.scannable().is_some()
    }

    fn scannable(&self) -> Option<&std::fs::File> {
        self.file.as_ref().filter(|_| self.scans)?.own()
    }

    /// Resident bytes of the anonymous pages that lie wholly or partly in `start..end`, without the unclear ones.
    pub fn resident(&self, start: usize, end: usize) -> u64 {
        self.pages(start, end).resident
    }

    /// The pages that lie wholly or partly in `start..end`, in bytes.
    pub fn pages(&self, start: usize, end: usize) -> Pages {
        let (first, last) = (start as u64 / self.page_bytes, (end as u64).div_ceil(self.page_bytes));
        let range = (first * self.page_bytes) as usize..(last * self.page_bytes) as usize;
        let Some(file) = &self.file else {
            let present = in_core(&[range]);
            return Pages { present, resident: present, unclear: 0 };
        };
        let scanned = || page_scan::present_and_zeroes(self.scannable()?, &range);
        if let Some([present, zeroes]) = scanned() {
            return Pages { present, resident: present - zeroes, unclear: 0 };
        }
        let mut pages = Pages::default();
        for block in (first..last).step_by(BLOCK as usize) {
            let end = last.min(block + BLOCK);
            // Most of the tracker's address space was never touched. pagemap takes as long for it as for other pages,
            // mincore next to no time.
            let [start, end_address] = [block, end].map(|page| (page * self.page_bytes) as usize);
            if in_core(&[Range { start, end: end_address }]) > 0 {
                pages.add_block(file, block..end, self.page_bytes);
            }
        }
        pages
    }
}

/// So many pages of files are read from pagemap at once.
const MANY: usize = 16 * BLOCK as usize;

impl Pagemap {
    /// The present pages of `range`, which maps a file or shared memory: (those of the file, those of the process's own, which
    /// it has written), in bytes. `None` where pagemap cannot be read.
    ///
    /// `mincore` tells of such a range what is in the page cache, mapped or not.
    pub fn of_file(&self, range: &Range) -> Option<(u64, u64)> {
        let file = self.file.as_ref()?;
        let (mut page, last) = (range.start as u64 / self.page_bytes, range.end as u64 / self.page_bytes);
        let (mut of_file, mut written) = (0, 0);
        let mut entries = [0u8; 8 * MANY];
        while page < last {
            let wanted = ((last - page) as usize).min(MANY) * 8;
            // Behind the addresses that programs have there is nothing: the kernel's page of system calls.
            let got = file.read_at(&mut entries[..wanted], page * 8).ok().filter(|got| *got >= 8);
            let Some(got) = got else { break };
            for word in entries[..got].chunks_exact(8) {
                let entry = word.try_into().map_or(0, u64::from_ne_bytes);
                let (present, is_files) = (entry >> 63, entry >> 61 & 1);
                of_file += present & is_files;
                written += present & !is_files & 1;
            }
            page += got as u64 / 8;
        }
        Some((of_file * self.page_bytes, written * self.page_bytes))
    }
}

/// Pages of a range, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Those that are present.
    pub present: u64,
    /// Those of them that the kernel counts as resident, as far as this is known.
    pub resident: u64,
    /// Those of which it is not known: pages of zeroes, or shared with a forked child.
    pub unclear: u64,
}

impl Pages {
    /// Adds pages by their numbers, at most [`BLOCK`].
    fn add_block(&mut self, file: &KeptFile, numbers: std::ops::Range<u64>, page_bytes: u64) {
        let mut entries = [0u8; 8 * BLOCK as usize];
        let mut page = numbers.start;
        while page < numbers.end {
            let wanted = ((numbers.end - page) as usize).min(BLOCK as usize) * 8;
            match file.read_at(&mut entries[..wanted], page * 8) {
                Ok(got) if got >= 8 => {
                    for word in entries[..got].chunks_exact(8) {
                        self.add(word.try_into().map_or(0, u64::from_ne_bytes), page_bytes);
                    }
                    page += got as u64 / 8;
                }
                _ => break,
            }
        }
    }

    /// Adds the page of one entry, a native 64-bit word: bit 63 says that the page is present, bit 61 that it is a file's
    /// or of shared memory, bit 56 that it is mapped once.
    fn add(&mut self, entry: u64, page_bytes: u64) {
        let (present, exclusive) = (entry >> 63, entry >> 56 & 1);
        self.present += present * page_bytes;
        self.resident += (present & exclusive) * page_bytes;
        self.unclear += (present & !exclusive & 1) * page_bytes;
    }
}

/// Present bytes of `ranges`, which begin and end at pages; what is not mapped has none.
pub fn in_core(ranges: &[Range]) -> u64 {
    let mut sum = 0;
    for range in ranges {
        each_portion(range, |_, pages| sum += pages.iter().map(|byte| usize::from(byte & 1)).sum::<usize>());
    }
    (sum * page_bytes()) as u64
}

/// Calls `work` with the address of each portion of `range` and a byte for each of its pages, of which the lowest bit says
/// whether it is present; the others are reserved. Each portion but the last ends at a multiple of a portion's size. Portions that
/// are not mapped are left out.
pub fn each_portion(range: &Range, mut work: impl FnMut(usize, &[u8])) {
    // The kernel takes the pages in portions of this size as well.
    const PAGES: usize = 4 * 1024;
    let page = page_bytes();
    let mut present = [0u8; PAGES];
    let mut start = range.start;
    while start < range.end {
        let next = range.end.min((start / (PAGES * page) + 1) * PAGES * page);
        let bytes = next - start;
        // SAFETY: mincore only looks the pages up, and writes a byte for each of them to `present`, which has room for
        // PAGES. For a range that is not mapped it reports an error.
        let status = unsafe { libc::mincore(start as *mut libc::c_void, bytes, present.as_mut_ptr()) };
        if status == 0 {
            work(start, &present[..bytes.div_ceil(page)]);
        }
        start = next;
    }
}

#[cfg(test)]
impl Pagemap {
    /// The instrument before Linux 6.7.
    pub fn of_words() -> Self {
        Pagemap { scans: false, ..Pagemap::open() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_are_resident_and_others_are_not() {
        let page = page_bytes();
        let start = crate::sys::map_zeroed(64 * page);
        for index in 0..10 {
            // SAFETY: the mapping has 64 pages, and it is this test's own.
            unsafe { start.add(index * page).write(1) };
        }
        // SAFETY: as above. The page is read and never written: it is the kernel's page of zeroes.
        unsafe { start.add(20 * page).read_volatile() };
        let range = start.addr()..start.addr() + 64 * page;
        assert_eq!(in_core(std::slice::from_ref(&range)), 11 * page as u64);
        let bytes = |pages: usize| (pages * page) as u64;
        let without = Pagemap { file: None, ..Pagemap::open() };
        let expected = Pages { present: bytes(11), resident: bytes(11), unclear: 0 };
        assert_eq!(without.pages(range.start + 1, range.end - 1), expected);
        let (pagemap, words) = (Pagemap::open(), Pagemap::of_words());
        if pagemap.file.is_none() {
            return println!("SKIPPED: no /proc/self/pagemap");
        }
        let expected = Pages { resident: bytes(10), unclear: bytes(1), ..expected };
        assert_eq!(words.pages(range.start, range.end), expected);
        if !pagemap.scans {
            return println!("SKIPPED: the kernel has no PAGEMAP_SCAN");
        }
        let expected = Pages { unclear: 0, ..expected };
        assert_eq!(pagemap.pages(range.start, range.end), expected);
    }
}
