//! The numbers of operators' names that one thread has met. An operator's name lies where it lay before, nearly always, so that its number
//! is found by that address; whether the name is still the same one is looked at each time.
use std::cell::Cell;

use alloc_tracker::hooks::Name;

use crate::hooks::Hooks;

/// How many names are kept. A network has some dozens of operators.
const COUNT: usize = 64;

/// Names and their texts, by where libtorch's lie.
pub(crate) struct RecentNames {
    names: [Cell<(Name, &'static [u8])>; COUNT],
}

impl RecentNames {
    /// No name.
    pub(crate) const fn new() -> RecentNames {
        RecentNames { names: [const { Cell::new((Name(0), b"")) }; COUNT] }
    }

    /// The number of an operator's name.
    pub(crate) fn name(&self, hooks: &impl Hooks, operator: &[u8]) -> Name {
        // The lowest bits of the address and those above them choose the place: names lie close together or far apart.
        let address = operator.as_ptr().addr();
        let place = &self.names[(address ^ address >> 6) % COUNT];
        let (number, text) = place.get();
        if text == operator {
            return number;
        }
        let number = hooks.name(&String::from_utf8_lossy(operator));
        place.set((number, hooks.text(number).as_bytes()));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::TrackerHooks;

    #[test]
    fn a_name_is_told_from_what_lay_there_before() {
        let recent = RecentNames::new();
        let mut buffer = *b"aten::relu";
        let relu = recent.name(&TrackerHooks, &buffer);
        assert_eq!(TrackerHooks.text(relu), "aten::relu");
        assert_eq!(recent.name(&TrackerHooks, &buffer), relu);
        buffer.copy_from_slice(b"aten::tanh");
        assert_eq!(TrackerHooks.text(recent.name(&TrackerHooks, &buffer)), "aten::tanh");
        assert_eq!(recent.name(&TrackerHooks, b""), Name(0), "the empty name is number 0");
        assert_eq!(TrackerHooks.text(recent.name(&TrackerHooks, b"\xff")), "\u{fffd}", "what is no text is made one");
    }
}
