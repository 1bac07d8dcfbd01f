//! Where CPython's structures have their fields, by version. From 3.13 on `_PyRuntime` begins with a table that says so
//! (`_Py_DebugOffsets`); the numbers of earlier versions are `offsetof` in their headers, on a 64-bit machine. Whether they are right for
//! the Python that runs is for the trial to show.
use std::ffi::CStr;

use super::lines::Lines;
use crate::memory::{Asked, Memory};

/// How the chain of frames says which of them a call of the interpreter's function began with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Borders {
    /// Each frame has a call of its own (up to 3.10).
    Everywhere,
    /// A flag in the frame, at this place (3.11).
    Flag(u64),
    /// An empty frame comes behind it: one whose owner, a byte at this place, is [`C_STACK`] (from 3.12 on).
    EmptyFrame(u64),
}

/// How a frame says where it is in its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A C `int` that counts bytes, or -1 (up to 3.9).
    Bytes,
    /// A C `int` that counts code units of two bytes, or -1 (3.10).
    Units,
    /// An address in the code, which is in the code object at this place (from 3.11 on).
    Address(u64),
}

/// Where fields stand, see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// In the thread's state: the innermost frame, or what has it.
    pub state_frame: u64,
    /// In the thread's state: the empty frame that every chain ends with, before any evaluation (from 3.15 on).
    pub state_base: Option<u64>,
    /// In what the thread's state has: the innermost frame.
    pub frame_in: Option<u64>,
    /// In a frame: the one that called it.
    pub frame_back: u64,
    /// In a frame: the code object.
    pub frame_code: u64,
    /// In a frame: where it is in its code.
    pub frame_position: u64,
    /// What that is.
    pub position: Position,
    /// See there.
    pub borders: Borders,
    /// In a code object: the file's name.
    pub code_file: u64,
    /// In a code object: the function's name, with what it is in where the version has that.
    pub code_name: u64,
    /// In a code object: the first line, a C `int`.
    pub code_first_line: u64,
    /// In a code object: the table of lines.
    pub code_lines: u64,
    /// What kind of table that is.
    pub lines: Lines,
    /// Where the characters of a text begin that is ASCII alone, and of another.
    pub text: [u64; 2],
}

/// The owner of an empty frame: `FRAME_OWNED_BY_CSTACK` up to 3.13, `FRAME_OWNED_BY_INTERPRETER` from 3.14 on.
pub const C_STACK: u8 = 3;

/// Up to 3.10 a frame is an object; these are 3.8's and 3.9's.
const OBJECTS: Layout = Layout {
    state_frame: 24,
    state_base: None,
    frame_in: None,
    frame_back: 24,
    frame_code: 32,
    frame_position: 104,
    position: Position::Bytes,
    borders: Borders::Everywhere,
    code_file: 104,
    code_name: 112,
    code_first_line: 40,
    code_lines: 120,
    lines: Lines::Steps,
    text: [48, 72],
};

const V3_11: Layout = Layout {
    state_frame: 56,
    state_base: None,
    frame_in: Some(8),
    frame_back: 48,
    frame_code: 32,
    frame_position: 56,
    position: Position::Address(184),
    borders: Borders::Flag(68),
    code_file: 112,
    code_name: 128,
    code_first_line: 72,
    code_lines: 136,
    lines: Lines::Locations,
    text: [48, 72],
};

const V3_12: Layout = Layout {
    frame_in: Some(0),
    frame_back: 8,
    frame_code: 0,
    position: Position::Address(192),
    borders: Borders::EmptyFrame(70),
    code_first_line: 68,
    text: [40, 56],
    ..V3_11
};

/// The table's first word, as text, and how many words of it are read.
const COOKIE: &[u8; 8] = b"xdebugpy";
const TABLE: usize = 93;

/// Which words of the table say where something is.
#[derive(Clone, Copy, Debug)]
struct Words {
    /// The innermost frame, in the thread's state.
    state_frame: usize,
    /// The frame that every chain ends with, in the thread's state.
    state_base: Option<usize>,
    /// In a frame: its caller. Code, position, locals and owner follow.
    frame: usize,
    /// In a code object: the file's name. The name, the name with what it is in, the table of lines, the first line, three that are not
    /// read and the code follow.
    code: usize,
    /// The size of an ASCII text's head.
    text: usize,
}

const W3_13: Words = Words { state_frame: 23, state_base: None, frame: 29, code: 35, text: 70 };
const W3_14: Words = Words { state_frame: 26, state_base: None, frame: 32, code: 40, text: 80 };
const W3_15: Words = Words { state_frame: 26, state_base: Some(27), frame: 40, code: 48, text: 92 };

impl Layout {
    /// That of the version whose number is `hexversion` (`sys.hexversion`). `runtime`: where `_PyRuntime` is.
    ///
    /// # Errors
    /// Says why it is not known.
    pub fn of(hexversion: u32, runtime: u64) -> Result<Layout, &'static CStr> {
        match hexversion >> 16 {
            0x0308 | 0x0309 => Ok(OBJECTS),
            0x030a => Ok(Layout { frame_position: 96, position: Position::Units, lines: Lines::Ranges, ..OBJECTS }),
            0x030b => Ok(V3_11),
            0x030c => Ok(V3_12),
            0x030d => Self::from_runtime(hexversion, runtime, W3_13),
            0x030e => Self::from_runtime(hexversion, runtime, W3_14),
            0x030f => Self::from_runtime(hexversion, runtime, W3_15),
            _ => Err(c"this is known for CPython 3.8 to 3.15"),
        }
    }

    /// Reads the table that `_PyRuntime` begins with.
    fn from_runtime(hexversion: u32, runtime: u64, words: Words) -> Result<Layout, &'static CStr> {
        let mut table = [[0; 8]; TABLE];
        (&Asked::new()).read(runtime, table.as_flattened_mut()).ok_or(c"_PyRuntime cannot be read")?;
        Self::from_table(hexversion, &table.map(u64::from_ne_bytes), words)
    }

    /// What a version's table says, whose words these are.
    fn from_table(hexversion: u32, table: &[u64; TABLE], words: Words) -> Result<Layout, &'static CStr> {
        if table[0].to_ne_bytes() != *COOKIE || table[1] != u64::from(hexversion) {
            return Err(c"_PyRuntime does not begin with this version's table of offsets");
        }
        if table[2] != 0 {
            return Err(c"this is not known for a Python without the lock");
        }
        let (frame, code) = (&table[words.frame..], &table[words.code..]);
        Ok(Layout {
            state_frame: table[words.state_frame],
            state_base: words.state_base.map(|word| table[word]),
            frame_in: None,
            frame_back: frame[0],
            frame_code: frame[1],
            frame_position: frame[2],
            position: Position::Address(code[8]),
            borders: Borders::EmptyFrame(frame[4]),
            code_file: code[0],
            code_name: code[2],
            code_first_line: code[4],
            code_lines: code[3],
            lines: Lines::Locations,
            // Behind an ASCII text's head, other texts have two words more.
            text: [table[words.text], table[words.text] + 16],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version's table as far as it is read: its number, and the words from these places on.
    fn table(hexversion: u32, said: &[(usize, &[u64])]) -> [u64; TABLE] {
        let mut table = [0; TABLE];
        (table[0], table[1]) = (u64::from_ne_bytes(*COOKIE), u64::from(hexversion));
        said.iter().for_each(|&(place, words)| table[place..][..words.len()].copy_from_slice(words));
        table
    }

    /// What the versions' tables say, read from running Pythons on x86-64; and what their headers do.
    #[test]
    fn tables_are_read_as_the_headers_have_them() {
        let code = |begin| [112, 120, 128, 136, 68, 52, 96, 104, begin];
        let said: [(usize, &[u64]); 4] = [(23, &[72]), (29, &[8, 0, 56, 72, 70]), (35, &code(200)), (70, &[40])];
        let v3_13 = Layout { state_frame: 72, position: Position::Address(200), frame_in: None, ..V3_12 };
        assert_eq!(Layout::from_table(0x030d_00f0, &table(0x030d_00f0, &said), W3_13), Ok(v3_13));

        let said: [(usize, &[u64]); 4] = [(26, &[72]), (32, &[8, 0, 56, 80, 74]), (40, &code(208)), (80, &[40])];
        let v3_14 = Layout { borders: Borders::EmptyFrame(74), position: Position::Address(208), ..v3_13 };
        assert_eq!(Layout::from_table(0x030e_08f0, &table(0x030e_08f0, &said), W3_14), Ok(v3_14));

        let said: [(usize, &[u64]); 4] = [(26, &[72, 80]), (40, &[8, 0, 56, 80, 74]), (48, &code(208)), (92, &[40])];
        let v3_15 = Layout { state_base: Some(80), ..v3_14 };
        assert_eq!(Layout::from_table(0x030f_00f0, &table(0x030f_00f0, &said), W3_15), Ok(v3_15));
    }

    #[test]
    fn other_tables_are_refused() {
        let mut table = table(0x030d_00f0, &[]);
        assert!(Layout::from_table(0x030d_01f0, &table, W3_13).is_err(), "another version's");
        table[2] = 1;
        assert!(Layout::from_table(0x030d_00f0, &table, W3_13).is_err(), "without the lock");
    }

    #[test]
    fn versions_that_were_not_looked_at_have_none() {
        assert!(Layout::of(0x0307_11f0, 0).is_err() && Layout::of(0x0310_00f0, 0).is_err());
        assert!(Layout::of(0x030d_00f0, 0).is_err(), "there is no table at 0");
        assert_eq!(Layout::of(0x030b_07f0, 0), Ok(V3_11));
    }
}
