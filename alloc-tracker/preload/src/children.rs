//! Children that are not recorded: what a thread starts while it compiles the program (`torch.compile` runs compilers, and processes that
//! run them) is none of the program's work.
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::ptr;

use crate::next::Words;

/// Without this variable a process is not recorded, though the library is preloaded.
const RECORDED: &[u8] = b"ALLOC_TRACKER_RECORD=";
/// An environment with more variables is handed on as it is. They are gathered on the stack, because a child that shares its parent's
/// memory (vfork) must not allocate.
const MOST: usize = 1024;

thread_local! {
    static ARE_FOLLOWED: Cell<bool> = const { Cell::new(true) };
}

/// Whether children are recorded that this thread starts. One that was forked by it goes on with what it said.
pub fn are_followed() -> bool {
    ARE_FOLLOWED.get()
}

/// Says whether the children are to be recorded that the calling thread starts from now on. Returns what it said before.
#[unsafe(no_mangle)]
pub extern "C" fn alloc_tracker_follow_children(follow: bool) -> bool {
    ARE_FOLLOWED.replace(follow)
}

/// Calls `exec` with the environment that the new program is to have.
///
/// # Safety
/// `environment` is null or an array of C strings with a null at its end.
pub unsafe fn with_environment<T>(environment: Words, exec: impl FnOnce(Words) -> T) -> T {
    if are_followed() || environment.is_null() {
        return exec(environment);
    }
    let mut kept: [*const c_char; MOST] = [ptr::null(); MOST];
    let mut length = 0;
    for index in 0.. {
        // SAFETY: as the caller promises; no word behind the null is read.
        let word = unsafe { *environment.add(index) };
        if word.is_null() {
            break;
        }
        // SAFETY: as the caller promises.
        if unsafe { CStr::from_ptr(word) }.to_bytes().starts_with(RECORDED) {
            continue;
        }
        if length + 1 == MOST {
            return exec(environment);
        }
        kept[length] = word;
        length += 1;
    }
    exec(kept.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variables that a new program would have.
    fn handed_on() -> Vec<String> {
        let words = [c"A=1", c"ALLOC_TRACKER_RECORD=/out", c"ALLOC_TRACKER_FOLLOW=all", c"B=2"];
        let mut environment: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        environment.push(ptr::null());
        let read = |environment: Words| {
            // SAFETY: an array of C strings with a null at its end, both here and in `kept`.
            let words = (0..).map(|at| unsafe { *environment.add(at) }).take_while(|word| !word.is_null());
            // SAFETY: as above.
            words.map(|word| unsafe { CStr::from_ptr(word) }.to_string_lossy().into_owned()).collect()
        };
        // SAFETY: as above.
        unsafe { with_environment(environment.as_ptr(), read) }
    }

    #[test]
    fn a_thread_that_says_so_hands_on_what_starts_no_recording() {
        assert_eq!(handed_on(), ["A=1", "ALLOC_TRACKER_RECORD=/out", "ALLOC_TRACKER_FOLLOW=all", "B=2"]);
        assert!(alloc_tracker_follow_children(false), "children were followed");
        assert_eq!(handed_on(), ["A=1", "ALLOC_TRACKER_FOLLOW=all", "B=2"]);
        assert!(std::thread::spawn(are_followed).join().expect("a thread"), "those of other threads are followed");
        assert!(!alloc_tracker_follow_children(true));
        assert_eq!(handed_on().len(), 4);
    }
}
