//! Children that are not recorded, because they cannot load this library ([`File::can_load`]), or because they are none of the program's
//! work: what a thread starts while it compiles the program (`torch.compile` runs compilers, and processes that run them).
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::ptr;

use crate::loadable::{File, without_own};
use crate::next::Words;

/// Without this variable a process is not recorded, though the library is preloaded.
const RECORDED: &[u8] = b"ALLOC_TRACKER_RECORD=";
/// The libraries that the loader is to load before the program's.
const PRELOADED: &[u8] = b"LD_PRELOAD=";
/// Where the list of them is longer, this library stays among them.
const LONGEST: usize = 4096;
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

/// Calls `exec` with the environment that the new program is to have, whose file this is: without the variable where it is not to be
/// recorded, and without this library where it cannot load it.
///
/// # Safety
/// `environment` is null or an array of C strings with a null at its end; a path in `file` is null or a C string.
pub unsafe fn with_environment<T>(environment: Words, file: File, exec: impl FnOnce(Words) -> T) -> T {
    // SAFETY: as the caller promises.
    let can_load = environment.is_null() || unsafe { file.can_load() };
    if environment.is_null() || can_load && are_followed() {
        return exec(environment);
    }
    let (mut kept, mut length): ([*const c_char; MOST], _) = ([ptr::null(); MOST], 0);
    let mut preloaded = [0; LONGEST];
    for index in 0.. {
        // SAFETY: as the caller promises; no word behind the null is read.
        let mut word = unsafe { *environment.add(index) };
        if word.is_null() {
            break;
        }
        // SAFETY: as the caller promises.
        let text = unsafe { CStr::from_ptr(word) }.to_bytes();
        if text.starts_with(RECORDED) {
            continue;
        }
        if let (false, Some(libraries)) = (can_load, text.strip_prefix(PRELOADED)) {
            match write_without_own(libraries, &mut preloaded) {
                Others::None => continue,
                Others::Some => word = preloaded.as_ptr().cast(),
                Others::TooMany => {}
            }
        }
        if length + 1 == MOST {
            return exec(environment);
        }
        kept[length] = word;
        length += 1;
    }
    exec(kept.as_ptr())
}

enum Others {
    None,
    Some,
    TooMany,
}

/// Writes `LD_PRELOAD` for these libraries without this one, with a zero at its end.
fn write_without_own(libraries: &[u8], out: &mut [u8; LONGEST]) -> Others {
    out[..PRELOADED.len()].copy_from_slice(PRELOADED);
    let mut end = PRELOADED.len();
    for path in without_own(libraries) {
        let begin = if end == PRELOADED.len() { end } else { end + 1 };
        let Some(place) = out.get_mut(begin..begin + path.len()).filter(|_| begin + path.len() < LONGEST) else {
            return Others::TooMany;
        };
        place.copy_from_slice(path);
        out[begin - usize::from(begin > end)..begin].fill(b':');
        end = begin + path.len();
    }
    out[end] = 0;
    if end == PRELOADED.len() { Others::None } else { Others::Some }
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
        unsafe { with_environment(environment.as_ptr(), File::Named(ptr::null()), read) }
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
