//! Unwinding: from a thread's registers to the calls that it is in, by the code map, without a lock or an allocation.
//!
//! ```text
//! present call -> by rules that are known, on the thread's own stack -> by the files' tables, on the side stack -> the stack's number
//!                              \------------ all of them were known, and all words were the own stack's ------------^
//! ```
//!
//! Nearly all samples are of calls whose rules are known, on the stack that the thread was started with, of which it is known what can
//! be read (`sys/own_stack.rs`). Those calls are walked along where the thread is, with little room and no system call. At the first
//! call without a rule, or word elsewhere, the walk goes on on the side stack, where it asks framehop, learns rules, and reads through
//! the kernel (`stack_window.rs`). So a damaged stack, or code without unwind tables, gives a short list of calls and never a crash.
//!
//! The tools for that (rules, framehop's cache, buffers, a side stack) are made beforehand, for [`READERS`] samples at the same time. A
//! thread that finds all of them in use does not wait: its sample has no stack. (A signal handler that leaves an unfinished sample by
//! `longjmp` leaves its tools in use for ever.)
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::call::{Call, present_call};
use super::code_map::{self, ADDRESS_BITS, CodeMap, Coverage, READERS};
use super::interpreter::{self, NO_FILE};
use super::rule::{self, Rule, Tables};
use super::rules::{Known, Rules};
use super::side_stack::SideStack;
use super::stack_window::{StackWindow, read_own};
use super::table::{self, NO_STACK};
use crate::sys::OwnStack;

/// The most frames of native code of a stack. Of a deeper stack the innermost frames are kept.
const DEPTH: usize = 192;
/// The most frames that an interpreter tells of, in the same way.
const INTERPRETED: usize = 128;

/// The tools that one sample at a time uses.
struct Reader {
    /// Set while a sample uses the tools.
    taken: AtomicBool,
    /// Buffers, and the side stack on which the unwinder runs; `None` until [`prepare`] has made them.
    tools: UnsafeCell<Option<(Box<Buffers>, SideStack)>>,
}

// SAFETY: only the thread that has set `taken` accesses the cell, until it unsets `taken`.
unsafe impl Sync for Reader {}

struct Buffers {
    rules: Rules,
    walk: Walk,
    tables: Tables,
    window: StackWindow,
}

/// How far the calls of a sample have been walked along.
struct Walk {
    /// The call whose frame is the next.
    call: Call,
    /// Those of native code, then those that an interpreter told of.
    frames: [u64; DEPTH + INTERPRETED],
    depth: usize,
    /// Whether there are more calls than frames.
    cut: bool,
}

/// The readers, with the numbers that [`code_map::pin`] knows them by.
static ALL: [Reader; READERS] =
    [const { Reader { taken: AtomicBool::new(false), tools: UnsafeCell::new(None) } }; READERS];

/// Makes the tools, if they are not made yet. A forked child goes on with the parent's; those that another thread of
/// the parent was using at the fork stay in use for ever.
pub fn prepare() {
    for reader in &ALL {
        if !reader.taken.swap(true, Ordering::Acquire) {
            // SAFETY: `taken` was unset, so the cell is this thread's until it is unset again.
            let tools = unsafe { &mut *reader.tools.get() };
            if tools.is_none() {
                *tools = SideStack::new().map(|stack| (Box::new(Buffers::new()), stack));
            }
            reader.taken.store(false, Ordering::Release);
        }
    }
}

/// The number of the calling thread's present stack; [`NO_STACK`] when it cannot be found, or code was unloaded just now. `own`: what the thread knows of the stack that
/// it was started with.
pub fn stack(own: Option<&OwnStack>) -> u32 {
    if code_map::is_doubted() {
        return NO_STACK;
    }
    let is_free = |reader: &Reader| !reader.taken.swap(true, Ordering::Acquire);
    let Some(number) = ALL.iter().position(is_free) else { return NO_STACK };
    let call = present_call();
    // SAFETY: `taken` was unset, so the cell is this thread's until it is unset again.
    let tools = unsafe { &mut *ALL[number].tools.get() };
    let found = tools.as_mut().map_or(NO_STACK, |(buffers, side_stack)| {
        // SAFETY: the call is that of this function, which has not returned yet.
        let walked = unsafe { buffers.walk(call, own) || buffers.walk_on(number, side_stack, call, own) };
        if walked { buffers.walk.with_interpreted().number() } else { NO_STACK }
    });
    ALL[number].taken.store(false, Ordering::Release);
    found
}

impl Buffers {
    fn new() -> Self {
        let walk = Walk { call: Call::NONE, frames: [0; DEPTH + INTERPRETED], depth: 0, cut: false };
        Buffers { rules: Rules::new(), walk, tables: Tables::new_in(), window: StackWindow::new() }
    }

    /// Walks from `call` along the calls whose rules are known, as long as all words are on the own stack. Whether these are all calls.
    ///
    /// # Safety
    /// `call` must be that of a function of this thread that has not returned yet, and `own` this thread's.
    unsafe fn walk(&mut self, call: Call, own: Option<&OwnStack>) -> bool {
        let Buffers { rules, walk, .. } = self;
        (walk.call, walk.depth, walk.cut) = (call, 0, false);
        let readable = own.map_or(0..0, |own| own.readable(call.stack_pointer as usize));
        // SAFETY: the thread says so of the stack pointer of a function that has not returned.
        walk.by_rules(rules, code_map::generation(), |address| unsafe { read_own(&readable, address) })
    }

    /// Goes on on the side stack where [`Buffers::walk`], which has begun at `call`, has ended. `false` when nothing can be found out.
    ///
    /// # Safety
    /// As for [`Buffers::walk`].
    unsafe fn walk_on(
        &mut self,
        reader: usize,
        side_stack: &mut SideStack,
        call: Call,
        own: Option<&OwnStack>,
    ) -> bool {
        let Some(map) = code_map::pin(reader) else { return false };
        let walked = side_stack.run(|| {
            // SAFETY: the call is that of a function that has not returned.
            unsafe { self.window.begin(own.map_or(0..0, |own| own.ask(call.stack_pointer as usize))) };
            self.by_tables(map);
        });
        code_map::unpin(reader);
        walked.is_some()
    }

    /// Goes on along the calls by all means.
    fn by_tables(&mut self, map: &CodeMap) {
        let Buffers { rules, walk, tables, window } = self;
        let generation = map.generation();
        while !walk.by_rules(rules, generation, |address| window.read(address)) {
            let address = walk.call.address.address_for_lookup();
            let Some(frame) = map.frame(address) else {
                if map.is_without_file(address) {
                    code_map::note_without_file()
                } else {
                    code_map::note_missed()
                }
                walk.cut = true;
                return;
            };
            let coverage = map.coverage_at(address);
            if coverage == Coverage::NoneHere
                && let back = walk.call.address.address()
                && map.coverage_at(back) == Coverage::Of(back)
                && let Some(frame) = map.frame(back)
            {
                // The first byte of a function follows on no call: a new context (`makecontext`) returns there in the end. Nobody has called it.
                rules.add(address, generation, Known { frame, rule: Rule::Outermost });
                walk.go_on(frame, None);
                return;
            }
            // Without a table, the frame pointer leads on, past a function that has not saved it.
            let is_sure = coverage != Coverage::NoneHere;
            walk.cut |= !is_sure;
            // An error ends the list of calls. In most programs it occurs at the outermost function itself.
            let (caller, rule) = rule::step(&map.unwinder, tables, &walk.call, |address| window.read(address));
            if let Some(rule) = rule.filter(|_| is_sure && rules.find(address, generation).is_none()) {
                rules.add(address, generation, Known { frame, rule });
            }
            if !walk.go_on(frame, caller) {
                return;
            }
        }
    }
}

impl Walk {
    /// Walks along the calls as far as known rules lead, and `read` can read. Whether these are all calls.
    #[inline]
    fn by_rules(&mut self, rules: &Rules, generation: u32, mut read: impl FnMut(u64) -> Result<u64, ()>) -> bool {
        while let Some(Known { frame, rule }) = rules.find(self.call.address.address_for_lookup(), generation)
            && let Ok(caller) = rule.caller(&self.call, &mut read)
        {
            if !self.go_on(frame, caller) {
                return true;
            }
        }
        false
    }

    /// Adds a frame, and goes on to the caller. `false` when that was the last one.
    #[inline]
    fn go_on(&mut self, frame: u64, caller: Option<Call>) -> bool {
        let Some(place) = self.frames[..DEPTH].get_mut(self.depth) else {
            self.cut = true;
            return false;
        };
        *place = frame;
        self.depth += 1;
        match caller {
            Some(caller) => self.call = caller,
            None => return false,
        }
        true
    }

    /// Adds the frames that an interpreter tells of, if there is one.
    fn with_interpreted(&mut self) -> &Self {
        if let Some(interpreter) = interpreter::announced() {
            let (told, more) = (interpreter.frames)(&mut self.frames[self.depth..][..INTERPRETED]);
            self.frames[self.depth..][..told].iter_mut().for_each(|frame| *frame |= NO_FILE << ADDRESS_BITS);
            (self.depth, self.cut) = (self.depth + told, self.cut || more);
        }
        self
    }

    /// The number of the stack that has been walked along.
    fn number(&self) -> u32 {
        if self.depth == 0 { NO_STACK } else { table::number(&self.frames[..self.depth], self.cut) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_modules;
    use super::*;

    /// The frames that framehop finds, each with unwind tables.
    fn by_framehop(map: &CodeMap, call: Call, own: &OwnStack) -> Vec<u64> {
        let (mut tables, mut window) = (Tables::new_in(), StackWindow::new());
        // SAFETY: the caller's call has not returned.
        unsafe { window.begin(own.ask(call.stack_pointer as usize)) };
        let mut frames = Vec::new();
        let mut next = Some(call);
        while let Some(call) = next
            && frames.len() < DEPTH
        {
            frames.extend(map.frame(call.address.address_for_lookup()));
            next = rule::step(&map.unwinder, &mut tables, &call, |address| window.read(address)).0;
        }
        frames
    }

    /// Looks at the present calls in three ways, which must agree.
    #[inline(never)]
    fn look(map: &CodeMap, own: &OwnStack) -> usize {
        let call = present_call();
        let expected = by_framehop(map, call, own);
        let mut buffers = Buffers::new();
        // SAFETY: the call is that of this function.
        assert!(!unsafe { buffers.walk(call, Some(own)) }, "no rule is known yet");
        // SAFETY: as above; the walk is at that call still.
        unsafe { buffers.window.begin(own.readable(call.stack_pointer as usize)) };
        buffers.by_tables(map);
        assert_eq!(buffers.walk.frames[..buffers.walk.depth], expected);
        if cfg!(target_arch = "x86_64") {
            // SAFETY: as above.
            let is_whole = unsafe { buffers.walk(call, Some(own)) };
            assert!(is_whole, "all rules are known, and all words are on the thread's own stack");
            assert_eq!(buffers.walk.frames[..buffers.walk.depth], expected);
        }
        assert_eq!(buffers.walk.cut, buffers.walk.depth == DEPTH);
        expected.len()
    }

    #[inline(never)]
    fn deep(left: usize, map: &CodeMap, own: &OwnStack) -> usize {
        let room = std::hint::black_box([left; 100]);
        let depth = if left == 0 { look(map, own) } else { deep(left - 1, map, own) };
        std::hint::black_box(&room);
        depth
    }

    struct Looking<'a>(&'a CodeMap, &'a OwnStack, usize);

    extern "C" fn compare(_: *const libc::c_void, _: *const libc::c_void, looking: *mut libc::c_void) -> libc::c_int {
        // SAFETY: it is what `rules_lead_where_framehop_does` passes, which waits for the function that calls this.
        let looking = unsafe { &mut *looking.cast::<Looking<'_>>() };
        looking.2 = look(looking.0, looking.1);
        0
    }

    /// In this function, below 20 and 1,000 others, and in a function that the C library calls.
    #[test]
    fn rules_lead_where_framehop_does() {
        with_modules(|_, map| {
            let own = OwnStack::default();
            own.begin();
            let here = look(map, &own);
            assert!(here >= 5, "{here}");
            // In between there are the calls of `deep`, and no others.
            assert_eq!(deep(20, map, &own), here + 21);
            assert_eq!(deep(1000, map, &own), DEPTH);
            let (mut pair, mut looking) = ([2u64, 1], Looking(map, &own, 0));
            let looking_at = (&raw mut looking).cast();
            // SAFETY: there are two elements of 8 bytes, and the function is of the type that is asked for.
            unsafe { libc::qsort_r(pair.as_mut_ptr().cast(), 2, 8, Some(compare), looking_at) };
            assert!(looking.2 > here, "{} calls below {here}", looking.2);
        });
    }

    /// Another stack is read through the kernel, with the same result; its words are not taken for the own stack's.
    #[test]
    fn calls_on_another_stack_are_found() {
        with_modules(|_, map| {
            let own = OwnStack::default();
            own.begin();
            let mut stack = SideStack::new().expect("memory");
            // Nothing in there may panic.
            let found = stack.run(|| {
                let call = present_call();
                (own.ask(call.stack_pointer as usize), by_framehop(map, call, &own).len())
            });
            assert!(found.as_ref().is_some_and(|(own, calls)| *own == (0..0) && *calls >= 2), "{found:?}");
        });
    }
}
