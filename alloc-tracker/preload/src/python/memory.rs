//! Reading what CPython has in memory.
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

/// Through the kernel, which refuses what is not mapped: for words of which nobody has shown yet that they are addresses.
#[derive(Clone, Copy, Debug)]
pub struct Asked;

impl Memory for Asked {
    fn read(self, address: u64, into: &mut [u8]) -> Option<()> {
        let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let there =
            libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address as usize), iov_len: into.len() };
        // SAFETY: `here` is memory of ours that may be written, and the kernel checks what is behind `there`.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), &raw const here, 1, &raw const there, 1, 0) };
        (read == into.len().cast_signed()).then_some(())
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

/// The addresses above 0 that nothing can be mapped at, and those from this on are not read.
const PAGE: u64 = 4096;
const END: u64 = 1 << 47;

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
        let direct = unsafe { Direct::new() };
        assert_eq!((Asked.word(address + 8), direct.word(address + 8)), (Some(words[1]), Some(words[1])));
        assert_eq!((Asked.byte(address), direct.int(address)), (Some(7), Some(7)));
        for nothing in [0, 8, 1 << 47, u64::MAX] {
            assert_eq!((Asked.word(nothing), direct.word(nothing)), (None, None), "{nothing:#x}");
        }
    }
}
