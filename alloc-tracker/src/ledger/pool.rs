//! Which slot belongs to which thread. Slots are reused when threads end, so that 10,000 threads started one after
//! another cost as much as one.
//!
//! A thread's life here: *fresh* (no slot, no attempt yet) -> *busy* (getting one; what it allocates meanwhile is
//! counted without a slot) -> *served* -> *busy* again, for good, when the thread ends: what other destructors still
//! allocate and free is counted without a slot.
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::lane::Lane;
use super::slot::{DEFAULT_SCOPE, Slot};
use crate::door::backend::{Backend, backend};
use crate::mode::{Mode, mode};
use crate::stacks;
use crate::sys;
use crate::tag::scope::{ScopeId, TRACKER};

const SLOTS_PER_BLOCK: usize = 64;
const MAX_BLOCKS: usize = 2048;
const MAX_SLOTS: usize = SLOTS_PER_BLOCK * MAX_BLOCKS;

static BLOCKS: [AtomicPtr<Slot>; MAX_BLOCKS] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX_BLOCKS];
/// Slots ever used; those below are initialised.
static USED: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST_LIVE: AtomicUsize = AtomicUsize::new(0);
/// Head of the list of free slots: index + 1 in the low half, a counter against ABA in the high half.
static FREE: AtomicU64 = AtomicU64::new(0);
static EXIT_KEY: AtomicU32 = AtomicU32::new(u32::MAX);
static KEY_MAKING: AtomicBool = AtomicBool::new(false);

/// The lane of threads that have no slot.
static CLOSED: Lane = Lane::closed();

/// The calling thread's pointer to its lane: a thread-local that is read with two instructions and leaves all other
/// registers alone. (`thread_local!` keeps a register over calls for its address, which costs the hot path four.)
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod own {
    use std::arch::{asm, global_asm};

    use super::{CLOSED, Lane};

    global_asm!(
        ".pushsection .tdata.alloc_tracker_lane, \"awT\", @progbits",
        ".p2align 3",
        ".hidden alloc_tracker_lane",
        ".globl alloc_tracker_lane",
        ".type alloc_tracker_lane, @tls_object",
        ".size alloc_tracker_lane, 8",
        "alloc_tracker_lane:",
        ".quad {closed}",
        ".popsection",
        closed = sym CLOSED,
    );

    #[inline(always)]
    pub fn lane() -> *const Lane {
        let lane;
        // SAFETY: reads the calling thread's own variable, by the initial-exec model of the ELF TLS ABI.
        unsafe {
            asm!(
                "mov {lane}, qword ptr [rip + alloc_tracker_lane@GOTTPOFF]",
                "mov {lane}, qword ptr fs:[{lane}]",
                lane = out(reg) lane,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        lane
    }

    pub fn set(lane: *const Lane) {
        // SAFETY: as in `lane`, writing.
        unsafe {
            asm!(
                "mov {offset}, qword ptr [rip + alloc_tracker_lane@GOTTPOFF]",
                "mov qword ptr fs:[{offset}], {lane}",
                offset = out(reg) _,
                lane = in(reg) lane,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// The same by the language's own means.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod own {
    use std::cell::Cell;

    use super::{CLOSED, Lane};

    thread_local! {
        static LANE: Cell<*const Lane> = const { Cell::new(&raw const CLOSED) };
    }

    #[inline(always)]
    pub fn lane() -> *const Lane {
        LANE.with(Cell::get)
    }

    pub fn set(lane: *const Lane) {
        LANE.with(|cell| cell.set(lane));
    }
}

thread_local! {
    // All are plain memory without destructors, so that they work until the thread's very last instruction.
    static SLOT: Cell<*const Slot> = const { Cell::new(ptr::null()) };
    static BUSY: Cell<bool> = const { Cell::new(false) };
    static AS_TRACKER: Cell<bool> = const { Cell::new(false) };
}

/// The lane of the calling thread's slot; one that is closed when it has no slot, or when no block may go that way.
#[inline(always)]
pub fn lane() -> &'static Lane {
    // SAFETY: the pointer is to CLOSED or into a slot, in a mapping that is never unmapped.
    unsafe { &*own::lane() }
}

/// The calling thread's slot; null when it has none (yet, any more, or because tracking is off).
fn current() -> *const Slot {
    SLOT.with(Cell::get)
}

/// Empties the words of the calling thread's lane, which must be open.
pub fn gather() {
    // SAFETY: SLOT is null or points to a slot in a mapping that is never unmapped.
    if let Some(slot) = unsafe { current().as_ref() } {
        slot.gather();
    }
}

/// Lets the calling thread's lane, which must be open, gather the frees of `scope`.
pub fn gather_frees_of(scope: ScopeId) {
    // SAFETY: as in `gather`.
    if let Some(slot) = unsafe { current().as_ref() } {
        slot.gather_frees_of(scope);
    }
}

/// The calling thread's slot as a reference, getting it one if it is fresh. `None` while busy.
pub fn acquire() -> Option<&'static Slot> {
    // SAFETY: SLOT is null or points to a slot in a mapping that is never unmapped.
    if let Some(slot) = unsafe { current().as_ref() } {
        return Some(slot);
    }
    if BUSY.with(Cell::get) || mode() == Mode::Off {
        return None;
    }
    BUSY.with(|busy| busy.set(true));
    let slot = take()?;
    slot.prepare(DEFAULT_SCOPE.load(Ordering::Relaxed));
    // SAFETY: gettid only asks the kernel for a number.
    slot.thread.store(unsafe { libc::syscall(libc::SYS_gettid) } as u32, Ordering::Relaxed);
    slot.stack_address.store(ptr::from_ref(&slot).addr(), Ordering::Relaxed);
    slot.taken.store(1, Ordering::Release);
    MOST_LIVE.fetch_max(LIVE.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    arrange_release(slot);
    SLOT.with(|cell| cell.set(slot));
    // In any other mode, over any other backend, and where blocks are sampled, every block goes the cold way.
    if mode() == Mode::On && backend() == Backend::Jemalloc && !stacks::on() {
        own::set(&slot.lane);
    }
    BUSY.with(|busy| busy.set(false));
    Some(slot)
}

/// Who owns what a thread without a slot allocates.
pub fn scope_without_slot() -> ScopeId {
    if AS_TRACKER.with(Cell::get) { TRACKER } else { DEFAULT_SCOPE.load(Ordering::Relaxed) }
}

/// Runs `work`, on a thread without a slot, with the tracker as the owner of what it allocates: whoever reads the ring must
/// not have to write to it.
pub fn as_tracker_without_slot<T>(work: impl FnOnce() -> T) -> T {
    let before = AS_TRACKER.with(|cell| cell.replace(true));
    let result = work();
    AS_TRACKER.with(|cell| cell.set(before));
    result
}

/// All slots that belong to a thread now.
pub fn live_slots() -> impl Iterator<Item = &'static Slot> {
    (0..USED.load(Ordering::Acquire).min(MAX_SLOTS))
        .filter_map(slot_at)
        .filter(|slot| slot.taken.load(Ordering::Acquire) != 0)
}

/// Blocks that the threads with a slot have resized, those that have ended too.
pub fn resized() -> u64 {
    let used = USED.load(Ordering::Acquire).min(MAX_SLOTS);
    (0..used).filter_map(slot_at).map(|slot| slot.resized.load(Ordering::Relaxed)).sum()
}

/// The most threads that had a slot at one time.
pub fn most_threads() -> usize {
    MOST_LIVE.load(Ordering::Relaxed)
}

fn slot_at(index: usize) -> Option<&'static Slot> {
    let block = BLOCKS.get(index / SLOTS_PER_BLOCK)?.load(Ordering::Acquire);
    if block.is_null() {
        return None;
    }
    // SAFETY: a block is a mapping of SLOTS_PER_BLOCK zeroed slots, never unmapped, and all fields of a slot are
    // atomics, for which zero is a value.
    Some(unsafe { &*block.add(index % SLOTS_PER_BLOCK) })
}

fn take() -> Option<&'static Slot> {
    loop {
        let head = FREE.load(Ordering::Acquire);
        let Some(index) = (head as u32).checked_sub(1) else { break };
        let slot = slot_at(index as usize)?;
        let next = u64::from(slot.next_free.load(Ordering::Relaxed));
        let new = ((head >> 32).wrapping_add(1) << 32) | next;
        if FREE.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some(slot);
        }
    }
    let index = USED.fetch_add(1, Ordering::AcqRel);
    let block = BLOCKS.get(index / SLOTS_PER_BLOCK)?;
    if block.load(Ordering::Acquire).is_null() {
        let bytes = SLOTS_PER_BLOCK * size_of::<Slot>();
        let fresh = sys::map_zeroed(bytes).cast::<Slot>();
        if fresh.is_null() {
            return None;
        }
        if block.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
            sys::unmap(fresh.cast(), bytes);
        }
    }
    let slot = slot_at(index)?;
    slot.index.store(index as u32, Ordering::Relaxed);
    Some(slot)
}

fn give_back(slot: &'static Slot) {
    slot.taken.store(0, Ordering::Release);
    LIVE.fetch_sub(1, Ordering::Relaxed);
    let index = u64::from(slot.index.load(Ordering::Relaxed));
    loop {
        let head = FREE.load(Ordering::Acquire);
        slot.next_free.store(head as u32, Ordering::Relaxed);
        let new = ((head >> 32).wrapping_add(1) << 32) | (index + 1);
        if FREE.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return;
        }
    }
}

/// Has the thread library call [`release`] when this thread ends.
fn arrange_release(slot: &'static Slot) {
    if EXIT_KEY.load(Ordering::Acquire) == u32::MAX {
        if KEY_MAKING.swap(true, Ordering::AcqRel) {
            // Another thread is making the key this instant; this thread's slot then stays with it for good.
            return;
        }
        let mut key: libc::pthread_key_t = 0;
        // SAFETY: `key` is valid for writing, and `release` has the signature the thread library calls.
        if unsafe { libc::pthread_key_create(&mut key, Some(release)) } == 0 {
            EXIT_KEY.store(key, Ordering::Release);
        }
    }
    let key = EXIT_KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key was made above and is never deleted; the value is only handed back to `release`. The call may
        // allocate: this thread is busy, so that allocation is counted without a slot.
        unsafe { libc::pthread_setspecific(key, ptr::from_ref(slot).cast()) };
    }
}

/// The end of a thread.
extern "C" fn release(slot: *mut libc::c_void) {
    // SAFETY: the value is what `arrange_release` stored: a slot, valid for the rest of the process.
    let Some(slot) = (unsafe { slot.cast::<Slot>().as_ref() }) else { return };
    own::set(&raw const CLOSED);
    slot.publish_now();
    SLOT.with(|cell| cell.set(ptr::null()));
    BUSY.with(|busy| busy.set(true));
    give_back(slot);
}
