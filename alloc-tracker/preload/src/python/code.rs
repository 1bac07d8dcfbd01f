//! Code objects by number. What names one is copied at its first sample, because it may be freed before anyone asks, and another one be at
//! its address: a number belongs to what an object says, not to where it is.
use alloc_tracker::unaided::functions;

use super::layout::Layout;
use crate::memory::Memory;

/// A text or a table in memory: where its bytes begin, how many there are, and how many each character has.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    at: u64,
    count: usize,
    width: u8,
}

/// Bytes of each end of a text or table that tell it from others.
const END: usize = 256;
/// The longest names of functions and files that are kept whole, in bytes, and the longest table. Of longer names the first part is kept;
/// without a table a function has no lines.
const MOST_NAME: usize = 1 << 10;
const MOST_FILE: usize = 4 << 10;
const MOST_TABLE: usize = 64 << 10;

/// Bytes before name, file and table in what is kept of a function.
pub const HEAD: usize = 20;

fn mixed(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

impl Bytes {
    /// A `str`; `None` for one of a kind that only old extensions make.
    fn of_text(memory: impl Memory, layout: &Layout, text: u64) -> Option<Bytes> {
        let length = memory.word(text.wrapping_add(16))?;
        let state = memory.int(text.wrapping_add(32))?.cast_unsigned();
        let (width, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 != 0, state >> 6 & 1 != 0);
        let count = usize::try_from(length).ok()?.checked_mul(width as usize)?;
        let at = text.wrapping_add(layout.text[usize::from(!is_ascii)]);
        (is_compact && matches!(width, 1 | 2 | 4)).then_some(Bytes { at, count, width: width as u8 })
    }

    /// A `bytes`.
    fn of_table(memory: impl Memory, table: u64) -> Option<Bytes> {
        let count = usize::try_from(memory.word(table.wrapping_add(16))?).ok()?;
        Some(Bytes { at: table.wrapping_add(32), count, width: 1 })
    }

    /// No more than this many bytes of it.
    fn up_to(self, most: usize) -> Bytes {
        Bytes { count: self.count.min(most), ..self }
    }

    /// Adds what tells these bytes from others to a hash.
    #[inline]
    fn hashed(self, memory: impl Memory, hash: u64) -> Option<u64> {
        let hash = mixed(hash, self.count as u64);
        if self.count <= 2 * END {
            return words(memory, self.at, self.count, hash);
        }
        let hash = words(memory, self.at, END, hash)?;
        words(memory, self.at.wrapping_add((self.count - END) as u64), END, hash)
    }
}

/// Bytes that are read at once where there are so many: a cache line, because each reading may take a system call.
const LINE: usize = 64;

/// Adds bytes to a hash. The words of lines go into four hashes side by side, because each of a hash's steps waits for the one before.
#[inline]
fn words(memory: impl Memory, at: u64, count: usize, mut hash: u64) -> Option<u64> {
    let (mut at, end) = (at, at.wrapping_add(count as u64));
    let mut beside = [hash, !hash, hash.rotate_left(21), hash.rotate_left(42)];
    for _ in 0..count / LINE {
        let mut line = [0; LINE];
        memory.read(at, &mut line)?;
        for four in line.as_chunks::<32>().0 {
            for (hash, &word) in beside.iter_mut().zip(four.as_chunks().0) {
                *hash = mixed(*hash, u64::from_ne_bytes(word));
            }
        }
        at = at.wrapping_add(LINE as u64);
    }
    if count >= LINE {
        hash = beside.into_iter().fold(hash, mixed);
    }
    for _ in 0..count % LINE / 8 {
        hash = mixed(hash, memory.word(at)?);
        at = at.wrapping_add(8);
    }
    let mut rest = [0; 8];
    memory.read(at, &mut rest[..end.wrapping_sub(at) as usize])?;
    Some(mixed(hash, u64::from_ne_bytes(rest)))
}

/// The number of a code object; `None` for what is none, and when there is no room.
#[inline]
pub fn number(memory: impl Memory, layout: &Layout, code_type: u64, code: u64) -> Option<u32> {
    if memory.word(code.wrapping_add(8))? != code_type {
        return None;
    }
    let first = memory.int(code.wrapping_add(layout.code_first_line))?;
    let [name, file] = [layout.code_name, layout.code_file].map(|at| memory.word(code.wrapping_add(at)));
    // The code that stands between a class that is called and its `__init__` is in no file: CPython gives it the name in place of one
    // (`_Py_InitCleanup`, from 3.13 on).
    if name == file {
        return None;
    }
    let name = Bytes::of_text(memory, layout, name?)?;
    let file = Bytes::of_text(memory, layout, file?)?;
    let table = Bytes::of_table(memory, memory.word(code.wrapping_add(layout.code_lines))?)?;
    let mut hash = u64::from(first.cast_unsigned());
    for bytes in [name, file, table] {
        hash = bytes.hashed(memory, hash)?;
    }
    let (name, file) = (name.up_to(MOST_NAME), file.up_to(MOST_FILE));
    let table = if table.count > MOST_TABLE { table.up_to(0) } else { table };
    let parts = [name, file, table];
    let bytes = || HEAD + parts.iter().map(|part| part.count).sum::<usize>();
    functions::number(hash, bytes, |room| write(memory, first, parts, room))
}

/// Writes what names a function: its first line, the widths of its names, three lengths, and then name, file and table.
fn write(memory: impl Memory, first: i32, parts: [Bytes; 3], room: &mut [u8]) {
    let (head, mut rest) = room.split_at_mut(HEAD);
    head[..4].copy_from_slice(&first.to_ne_bytes());
    (head[4], head[5]) = (parts[0].width, parts[1].width);
    for (place, part) in parts.iter().enumerate() {
        head[8 + 4 * place..][..4].copy_from_slice(&(part.count as u32).to_ne_bytes());
        let (here, after) = rest.split_at_mut(part.count);
        // What cannot be read stays zero. Its bytes were read just now.
        let _ = memory.read(part.at, here);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Asked;

    /// Each byte counts, and so does its place, and nothing behind the bytes does.
    #[test]
    fn each_byte_is_hashed() {
        let hash = |bytes: &[u8], count| words(&Asked::new(), bytes.as_ptr().expose_provenance() as u64, count, 1);
        let mut bytes: Vec<u8> = (1..=201).collect();
        let mut seen = std::collections::HashSet::new();
        for count in [0, 1, 7, 8, 63, 64, 65, 72, 127, 128, 200] {
            let whole = hash(&bytes, count);
            assert!(whole.is_some() && seen.insert(whole), "{count}");
            for changed in 0..=count {
                bytes[changed] ^= 1;
                assert_eq!(hash(&bytes, count) == whole, changed == count, "byte {changed} of {count}");
                bytes[changed] ^= 1;
            }
            // Two words of a line, and two lines.
            for apart in [8, 32, 64].into_iter().filter(|apart| count >= 2 * apart) {
                let swap = |bytes: &mut [u8]| (0..8).for_each(|byte| bytes.swap(byte, byte + apart));
                swap(&mut bytes);
                assert_ne!(hash(&bytes, count), whole, "words {apart} bytes apart");
                swap(&mut bytes);
            }
        }
        assert_eq!(words(&Asked::new(), u64::MAX - 100, 70, 1), None, "nothing is there");
    }
}
