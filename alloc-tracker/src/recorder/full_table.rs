//! Says once, as it happens, that the table of scopes is full: a user can then name fewer layers, and need not wait for the
//! end of the run to learn what `other scopes` are.
use std::sync::atomic::{AtomicBool, Ordering};

use crate::scope::{self, MAX_SCOPES};
use crate::sys;

/// Whether it was said on stderr. Once for the process, because the table is never emptied.
static SAID: AtomicBool = AtomicBool::new(false);

/// Whether the recording has said so.
#[derive(Debug, Default)]
pub struct FullTable {
    is_told: bool,
}

impl FullTable {
    /// Looks whether the table has become full since the last look. Returns the name of the mark that says so, once.
    pub fn look(&mut self) -> Option<String> {
        if self.is_told || scope::overflowed() == 0 {
            return None;
        }
        self.is_told = true;
        let mark = format!("the table of {MAX_SCOPES} scopes is full: new ones are counted under 'other scopes'");
        if !SAID.swap(true, Ordering::Relaxed) {
            // Where stderr takes no line, the mark alone says it.
            let _ =
                sys::say(&format!("alloc-tracker: {mark}; name fewer phases, layers and operators to tell them apart"));
        }
        Some(mark)
    }
}
