//! Says once, as it happens, that the table of scopes or that of names is full: a user can then name fewer layers, and need not
//! wait for the end of the run to learn what `other scopes` are.
use std::sync::atomic::{AtomicBool, Ordering};

use crate::scope::{self, MAX_NAMES, MAX_SCOPES};

/// Whether it was said on stderr. Once for the process, because neither table is ever emptied.
static SAID: AtomicBool = AtomicBool::new(false);

/// Whether the recording has said so.
#[derive(Debug, Default)]
pub struct FullTable {
    is_told: bool,
}

impl FullTable {
    /// Looks whether a table has become full since the last look. Returns the name of the mark that says so, once, and has `say`
    /// say it on the program's stderr, once for the process.
    pub fn look(&mut self, say: impl FnOnce(String)) -> Option<String> {
        if self.is_told || scope::overflowed() == 0 {
            return None;
        }
        self.is_told = true;
        let (entries, of) = if scope::count() < MAX_SCOPES { (MAX_NAMES, "names") } else { (MAX_SCOPES, "scopes") };
        let mark = format!("the table of {entries} {of} is full: new ones are counted under 'other scopes'");
        if !SAID.swap(true, Ordering::Relaxed) {
            say(format!("alloc-tracker: {mark}; name fewer phases, layers and operators to tell them apart"));
        }
        Some(mark)
    }
}
