//! The calling thread's lane, as the hot path finds it.
use super::lane::Lane;

/// The lane of threads that have no slot, and of all threads of a process in which every block takes the cold path.
static CLOSED: Lane = Lane::closed();

/// The thread-local pointer to the lane, read with two instructions that change no other register. (`thread_local!`
/// keeps the address in a register over calls, which costs the hot path four instructions.)
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
        // SAFETY: this reads the calling thread's own variable, defined above, by the initial-exec model of the ELF TLS
        // ABI.
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
        // SAFETY: this writes the calling thread's own variable, defined above, by the same model as `lane`.
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

/// The thread-local pointer to the lane, for other machines.
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

/// The lane of the calling thread: that of its slot, or a closed one.
#[inline(always)]
pub fn lane() -> &'static Lane {
    // SAFETY: the pointer is to CLOSED or comes from `set_lane`, which takes a reference that is valid for ever.
    unsafe { &*own::lane() }
}

/// Makes `lane` the calling thread's lane.
pub fn set_lane(lane: &'static Lane) {
    own::set(lane);
}

/// Gives the calling thread the closed lane.
pub fn close_lane() {
    own::set(&raw const CLOSED);
}
