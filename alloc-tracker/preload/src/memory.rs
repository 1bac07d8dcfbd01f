//! Reading what CPython and libtorch have in memory.
use std::cell::RefCell;
use std::ffi::c_void;

/// A way to read this process's memory.
pub trait Memory: Copy {
    /// Fills `into` with what is at an address; `None` where nothing can be.
    fn read(self, address: u64, into: &mut [u8]) -> Option<()>;

    /// A word.
    #[inline(always)]
    fn word(self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Some(u64::from_ne_bytes(bytes))
    }

    /// A C `int`.
    #[inline(always)]
    fn int(self, address: u64) -> Option<i32> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Some(i32::from_ne_bytes(bytes))
    }

    /// A byte.
    #[inline(always)]
    fn byte(self, address: u64) -> Option<u8> {
        let mut bytes = [0; 1];
        self.read(address, &mut bytes)?;
        Some(bytes[0])
    }
}

/// Bytes that are asked for at once; a page has several such pieces.
const PIECE: usize = 256;
/// How many pieces are kept.
const PIECES: usize = 16;

/// Through the kernel, which refuses what is not mapped: for words of which nobody has shown yet that they are addresses. The kernel is asked
/// for whole pieces, and not again for one that is kept (but for bytes that lie in two). So what is read must hold still as long as this lives.
#[derive(Debug)]
pub struct Asked {
    process: libc::pid_t,
    pieces: RefCell<[Piece; PIECES]>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Its number among all of the address space; `u64::MAX`, which no piece has, while nothing was read.
    number: u64,
    bytes: [u8; PIECE],
}

impl Asked {
    /// Nothing has been asked for yet.
    pub fn new() -> Self {
        let nothing = Piece { number: u64::MAX, bytes: [0; PIECE] };
        // SAFETY: the function only returns a number.
        Asked { process: unsafe { libc::getpid() }, pieces: RefCell::new([nothing; PIECES]) }
    }

    /// Asks for what is at an address.
    fn ask(&self, address: u64, into: &mut [u8]) -> Option<()> {
        let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let there =
            libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address as usize), iov_len: into.len() };
        // SAFETY: `here` is memory of ours that may be written, and the kernel checks what is behind `there`.
        let read = unsafe { libc::process_vm_readv(self.process, &raw const here, 1, &raw const there, 1, 0) };
        (read == into.len().cast_signed()).then_some(())
    }
}

impl Memory for &Asked {
    fn read(self, address: u64, into: &mut [u8]) -> Option<()> {
        let (number, begin) = (address / PIECE as u64, (address % PIECE as u64) as usize);
        if into.is_empty() {
            return Some(());
        }
        if begin + into.len() > PIECE {
            return self.ask(address, into);
        }
        let piece = &mut self.pieces.borrow_mut()[number as usize % PIECES];
        if piece.number != number {
            piece.number = u64::MAX;
            self.ask(number * PIECE as u64, &mut piece.bytes)?;
            piece.number = number;
        }
        into.copy_from_slice(&piece.bytes[begin..][..into.len()]);
        Some(())
    }
}

/// As it is.
#[derive(Clone, Copy, Debug)]
pub struct Direct(());

impl Direct {
    /// Memory that is read as it is.
    ///
    /// # Safety
    /// Each address that is read with it must be readable, null, or beyond what a process can have.
    pub unsafe fn new() -> Self {
        Direct(())
    }
}

/// The addresses above 0 that nothing can be mapped at, and those from this on are not read. A process of aarch64 may have 52 bits of
/// addresses (arm64's Documentation/arch/arm64/memory.rst), one of x86-64 has 47 unless it asks for more.
const PAGE: u64 = 4096;
const END: u64 = 1 << if cfg!(target_arch = "x86_64") { 47 } else { 52 };

impl Memory for Direct {
    #[inline(always)]
    fn read(self, address: u64, into: &mut [u8]) -> Option<()> {
        if !(PAGE..END).contains(&address) {
            return None;
        }
        let from = std::ptr::with_exposed_provenance::<c_void>(address as usize);
        // SAFETY: who made this promised that it is readable, and `into` is memory of ours.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), into.as_mut_ptr(), into.len()) };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_read_the_same_and_neither_reads_what_is_not_there() {
        let words = [7u64, 0x1234_5678_9abc_def0];
        let address = words.as_ptr().expose_provenance() as u64;
        // SAFETY: the words are there; the other addresses are null or beyond all.
        let (asked, direct) = (Asked::new(), unsafe { Direct::new() });
        assert_eq!((asked.word(address + 8), direct.word(address + 8)), (Some(words[1]), Some(words[1])));
        assert_eq!((asked.byte(address), direct.int(address)), (Some(7), Some(7)));
        for nothing in [0, 8, END, u64::MAX] {
            assert_eq!((asked.word(nothing), direct.word(nothing)), (None, None), "{nothing:#x}");
        }
    }

    /// Two pages, of which the second cannot be read: bytes of the first, up to its end, and none beyond; words that lie in two pieces, and
    /// in more pieces than are kept.
    #[test]
    fn pieces_end_where_pages_do() {
        // SAFETY: the function only returns a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        // SAFETY: a new mapping of two pages of zeroes, of which the second is made unreadable; nothing of it is unmapped.
        let begin = unsafe {
            let both = libc::PROT_READ | libc::PROT_WRITE;
            let begin =
                libc::mmap(std::ptr::null_mut(), 2 * page, both, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
            assert_ne!(begin, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(begin.byte_add(page), page, libc::PROT_NONE), 0);
            begin.cast::<u8>()
        };
        // SAFETY: the first page is this test's own.
        let bytes = unsafe { std::slice::from_raw_parts_mut(begin, page) };
        bytes.iter_mut().zip(0..).for_each(|(byte, at): (_, usize)| *byte = (at % 251) as u8);
        let (asked, address) = (Asked::new(), begin.expose_provenance() as u64);
        for at in (0..page - 8).step_by(5).chain([page - 8]) {
            let expected = u64::from_ne_bytes(bytes[at..][..8].try_into().expect("eight bytes"));
            assert_eq!(asked.word(address + at as u64), Some(expected), "at {at}");
        }
        assert_eq!([page - 7, page].map(|at| asked.word(address + at as u64)), [None; 2]);
        assert_eq!(
            asked.byte(address + page as u64 - 1),
            Some(bytes[page - 1]),
            "what could not be read changes nothing"
        );
    }
}
