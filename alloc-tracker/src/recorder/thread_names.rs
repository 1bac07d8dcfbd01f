//! Names of threads that run: what the kernel calls them now. Threads that have ended told their names themselves
//! (`ledger/thread.rs`).
use std::sync::atomic::Ordering;

use alloc_timeline::kept_file::read_text;

use crate::ledger;

/// What the thread is called that samples name `number`; `None` when it does not run any more.
pub fn of(number: u32) -> Option<String> {
    let slot = ledger::live_slots().find(|slot| slot.number.known() == Some(number))?;
    let id = slot.thread_id.load(Ordering::Relaxed);
    let name = read_text(format!("/proc/self/task/{id}/comm")).ok()?;
    // If the thread has ended meanwhile, the kernel's number may be another one's, and so may the slot.
    (slot.number.known() == Some(number)).then(|| name.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_is_asked_by_its_number() {
        let asked = || {
            let slot = ledger::acquire().expect("a slot");
            (slot.number.get(), of(slot.number.get()))
        };
        let thread = std::thread::Builder::new().name("asked".to_owned()).spawn(asked).expect("a thread");
        let (number, name) = thread.join().expect("the thread");
        assert_eq!(name.as_deref(), Some("asked"));
        assert_eq!(of(number), None, "it has ended");
    }
}
