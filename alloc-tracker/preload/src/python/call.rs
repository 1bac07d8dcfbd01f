//! What a frame is called.
use alloc_tracker::unaided::functions;
use alloc_tracker::unaided::interpreter::{InterpretedCall, OUTERMOST};

use super::code::HEAD;
use super::lines::Lines;
use super::walk::UNIT_BITS;

/// What stands in place of a function of which nothing is known, because there was no room for it.
const UNKNOWN: &str = "(a function beyond those that are told)";

/// The call at a frame; `None` for the frame of an evaluation that had begun with no function yet.
pub fn call(frame: u64, lines: Lines) -> Option<InterpretedCall> {
    let (function, unit) = ((frame & !OUTERMOST) >> UNIT_BITS, frame & ((1 << UNIT_BITS) - 1));
    if function == 0 && unit == 0 {
        return None;
    }
    let known = functions::text(function as u32).and_then(|text| told(text, unit, lines));
    Some(known.unwrap_or_else(|| InterpretedCall { function: UNKNOWN.to_owned(), file: String::new(), line: None }))
}

/// The call at a code unit of a function, by what `code.rs` has kept of it.
fn told(text: &[u8], unit: u64, lines: Lines) -> Option<InterpretedCall> {
    let (head, mut rest) = text.split_at_checked(HEAD)?;
    let number = |place: usize| Some(u32::from_ne_bytes(head.get(place..place + 4)?.try_into().ok()?));
    let mut part = |place: usize| {
        let (here, after) = rest.split_at_checked(number(8 + 4 * place)? as usize)?;
        rest = after;
        Some(here)
    };
    let (name, file, table) = (part(0)?, part(1)?, part(2)?);
    let first = number(0)?.cast_signed();
    let line = match unit.checked_sub(1) {
        // It has not begun.
        None => u32::try_from(first).ok(),
        Some(unit) => lines.line(table, first, 2 * unit),
    };
    Some(InterpretedCall { function: characters(name, head[4]), file: characters(file, head[5]), line })
}

/// The text of characters that have so many bytes each.
fn characters(bytes: &[u8], width: u8) -> String {
    let number = |character: &[u8]| {
        let mut number = [0; 4];
        number[..character.len()].copy_from_slice(character);
        u32::from_le_bytes(number)
    };
    let character = |bytes| char::from_u32(number(bytes)).unwrap_or(char::REPLACEMENT_CHARACTER);
    bytes.chunks_exact(usize::from(width.clamp(1, 4))).map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_each_width_are_read() {
        assert_eq!(characters(b"f\xe9", 1), "f\u{e9}");
        assert_eq!(characters(&[0x41, 0, 0x60, 0x4f, 0, 0xd8], 2), "A\u{4f60}\u{fffd}");
        assert_eq!(characters(&[0x00, 0xf6, 0x01, 0x00], 4), "\u{1f600}");
    }

    #[test]
    fn a_call_is_read_from_what_was_kept() {
        let mut text = Vec::new();
        text.extend(10i32.to_ne_bytes());
        text.extend([1, 1, 0, 0]);
        [1u32, 4, 4].into_iter().for_each(|bytes| text.extend(bytes.to_ne_bytes()));
        text.extend(b"ff.py");
        text.extend([4, 1, 4, 2]);
        let call = |line| Some(InterpretedCall { function: "f".to_owned(), file: "f.py".to_owned(), line });
        let lines = [0, 1, 3, 5].map(|unit| told(&text, unit, Lines::Ranges));
        assert_eq!(lines, [call(Some(10)), call(Some(11)), call(Some(13)), call(None)]);
        assert_eq!(told(&text[..HEAD + 7], 1, Lines::Ranges), None, "cut");
    }
}
