//! The line of an instruction, by the table that a code object has: `Objects/lnotab_notes.txt` (up to 3.10) and
//! `Objects/locations.md` (from 3.11 on) in CPython's sources describe the three kinds.

/// A kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Pairs: so many bytes of code further, so many lines further (up to 3.9).
    Steps,
    /// Pairs: so many bytes of code are so many lines further (3.10).
    Ranges,
    /// Entries of several bytes, with columns (from 3.11 on).
    Locations,
}

impl Lines {
    /// The line of the instruction at this byte of the code, when the code begins in line `first`. `None` for an instruction that is in
    /// no line.
    pub fn line(self, table: &[u8], first: i32, at: u64) -> Option<u32> {
        let line = match self {
            Lines::Steps => Some(by_steps(table, first, at)),
            Lines::Ranges => by_ranges(table, first, at),
            Lines::Locations => by_locations(table, first, at),
        };
        u32::try_from(line?).ok()
    }
}

fn by_steps(table: &[u8], first: i32, at: u64) -> i32 {
    let (mut line, mut address) = (first, 0);
    for pair in table.chunks_exact(2) {
        address += u64::from(pair[0]);
        if address > at {
            break;
        }
        line += i32::from(pair[1].cast_signed());
    }
    line
}

fn by_ranges(table: &[u8], first: i32, at: u64) -> Option<i32> {
    /// In place of a number of lines: these bytes of code are in no line.
    const NO_LINE: i8 = -128;
    let (mut line, mut end) = (first, 0);
    for pair in table.chunks_exact(2) {
        let lines = pair[1].cast_signed();
        end += u64::from(pair[0]);
        line += if lines == NO_LINE { 0 } else { i32::from(lines) };
        if at < end {
            return (lines != NO_LINE).then_some(line);
        }
    }
    None
}

fn by_locations(table: &[u8], first: i32, at: u64) -> Option<i32> {
    /// Marks the first byte of an entry.
    const FIRST: u8 = 0x80;
    const CODE_UNIT: u64 = 2;
    let (mut line, mut end) = (first, 0);
    let mut rest = table;
    while let Some((&head, more)) = rest.split_first() {
        let bytes = more.iter().position(|byte| byte & FIRST != 0).unwrap_or(more.len());
        let (entry, after) = more.split_at(bytes);
        let kind = head >> 3 & 15;
        line = line.wrapping_add(match kind {
            10..=12 => i32::from(kind - 10),
            13 | 14 => signed(entry),
            _ => 0,
        });
        end += (u64::from(head & 7) + 1) * CODE_UNIT;
        if at < end {
            return (kind != 15).then_some(line);
        }
        rest = after;
    }
    None
}

/// The number that an entry begins with: six bits in each byte, the lowest first; the lowest bit of all is the sign.
fn signed(entry: &[u8]) -> i32 {
    const MORE: u8 = 0x40;
    let mut number = 0u32;
    for (place, byte) in entry.iter().enumerate().take(6) {
        number |= u32::from(byte & 0x3f) << (6 * place);
        if byte & MORE == 0 {
            break;
        }
    }
    let size = (number >> 1).cast_signed();
    if number & 1 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of `lnotab_notes.txt`: 0, 6 and 50 bytes on are lines 1, 2 and 7; then 350 and 361 bytes are 207 and 208.
    #[test]
    fn steps_are_added() {
        let table = [0, 1, 6, 1, 44, 5, 255, 0, 45, 127, 0, 73, 11, 1];
        let lines = [0, 5, 6, 49, 50, 349, 350, 360, 361, 999].map(|at| Lines::Steps.line(&table, 0, at));
        assert_eq!(lines, [1, 1, 2, 2, 7, 7, 207, 207, 208, 208].map(Some));
        assert_eq!(Lines::Steps.line(&[2, 256_u16.wrapping_sub(3) as u8], 10, 2), Some(7), "a step back");
    }

    #[test]
    fn ranges_have_lines_or_none() {
        let table = [4, 1, 2, 128, 6, 255];
        let lines = [0, 3, 4, 5, 6, 11, 12].map(|at| Lines::Ranges.line(&table, 10, at));
        assert_eq!(lines, [Some(11), Some(11), None, None, Some(10), Some(10), None]);
    }

    /// `locations.md`: kinds 0 to 9 stay in the line, 10 to 12 go 0 to 2 lines on, 13 and 14 say how many, 15 has no line.
    #[test]
    fn locations_of_all_kinds_are_read() {
        let head = |kind: u8, units: u8| 0x80 | kind << 3 | (units - 1);
        let table = [
            head(11, 2),
            3,
            4, // one line on
            head(3, 1),
            9, // the same line
            head(14, 1),
            0x40 | 10 << 1,
            2,
            0,
            1,
            1,           // 2 * 64 + 20 is 74 lines on: 148 >> 1
            head(15, 1), // none
            head(13, 8),
            5 << 1 | 1, // five lines back
        ];
        let lines = [0, 2, 4, 6, 8, 10, 24, 26].map(|at| Lines::Locations.line(&table, 100, at));
        let expected = [Some(101), Some(101), Some(101), Some(175), None, Some(170), Some(170), None];
        assert_eq!(lines, expected);
    }
}
