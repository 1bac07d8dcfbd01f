//! Operators within operators, of which libtorch need not tell. Nothing about them is noted: what they allocate is the outer
//! operator's. But each telling costs, and of a network of small layers they are two thirds. So while an operator of libtorch's own
//! runs, or a node of its own, libtorch is told that nobody wants to know of operators on this thread.
//!
//! ```text
//! aten::linear               told
//!   aten::t                  not told
//!     aten::transpose        not told
//!   aten::addmm              not told; it made the node of number 278: the number was 278 before, and is 279 at the end
//! ```
//!
//! Told in any case: nodes, the engine's events, functions of Python's and compiled regions, which ask libtorch in another way; and
//! everything from the moment on at which somebody else has a callback in libtorch, such as a profiler of the program's.
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::running::on_this_thread;

/// Whether libtorch leaves out what need not be told.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Whether somebody else has, or had, a callback in libtorch.
static HAS_OTHERS: AtomicBool = AtomicBool::new(false);

/// Leaves out operators from now on, unless somebody else wants to know of them.
pub fn begin() {
    IS_ON.store(!HAS_OTHERS.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Somebody else has a callback: libtorch is told no more what to leave out, for the rest of the process.
pub fn others_came() {
    HAS_OTHERS.store(true, Ordering::Relaxed);
    IS_ON.store(false, Ordering::Relaxed);
}

/// Whether libtorch may leave anything out.
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Whether nothing need be told of an operator that starts on this thread now.
pub fn is_left_out() -> bool {
    is_on() && is_quiet()
}

/// Whether the innermost that was told on this thread is one within which nothing need be told.
fn is_quiet() -> bool {
    on_this_thread(|running| running.hiding.get() & 1 != 0).unwrap_or(false)
}

/// Whether nothing need be told within an operator or a node of this name: one of libtorch's own. What is written in Python has names
/// of other kinds; what it does is told, because it may have layers in it.
pub fn hides(name: &[u8], is_backward: bool) -> bool {
    match name {
        // The class of a function in Python, with the word `Backward` behind it.
        [.., b'0'..=b'9'] if is_backward => true,
        _ if is_backward => name.starts_with(b"torch::autograd::"),
        _ => name.starts_with(b"aten::"),
    }
}

/// Something starts that was told; `next` is the number that libtorch gives the next node.
pub fn starts(hides: bool, next: i64) {
    on_this_thread(|running| {
        running.hiding.set(running.hiding.get() << 1 | u64::from(hides));
        running.first_node.set(next);
    });
}

/// It ends.
pub fn ends(next: i64) {
    on_this_thread(|running| {
        running.hiding.set(running.hiding.get() >> 1);
        running.first_node.set(next);
    });
}

/// The numbers of the nodes that operators have made of which nothing was told, up to `next`; from then on they count as noted.
pub fn made(next: i64) -> Range<i64> {
    let first = on_this_thread(|running| running.first_node.replace(next)).unwrap_or(next);
    if is_quiet() { first..next } else { next..next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_libtorchs_own_is_told_by_its_name() {
        for (name, is_backward, expected) in [
            ("aten::linear", false, true),
            ("mylib::linear", false, false),
            ("CheckpointFunction", false, false),
            ("Torch-Compiled Region: 0/0", false, false),
            ("AddmmBackward0", true, true),
            ("torch::autograd::AccumulateGrad", true, true),
            ("CheckpointFunctionBackward", true, false),
            ("CompiledFunctionBackward", true, false),
            ("", true, false),
        ] {
            assert_eq!(hides(name.as_bytes(), is_backward), expected, "{name}");
        }
    }

    #[test]
    fn nodes_are_those_of_the_innermost_that_was_told() {
        starts(true, 7);
        assert_eq!(made(9), 7..9);
        assert!(made(9).is_empty(), "each once");
        starts(false, 9);
        assert!(made(12).is_empty(), "these were told one by one");
        ends(12);
        assert_eq!(made(13), 12..13);
        ends(13);
        assert!(made(20).is_empty());
    }

    #[test]
    fn deeper_than_the_bits_all_is_told() {
        (0..70).for_each(|_| starts(true, 0));
        assert!(is_quiet());
        (0..65).for_each(|_| ends(0));
        assert!(!is_quiet());
        (0..5).for_each(|_| ends(0));
    }
}
