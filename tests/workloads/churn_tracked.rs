//! The churn workload over the tracker, both doors; recorded when `CHURN_TIMELINE` names the timeline to write.
use alloc_interpose as _;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

mod churn;
mod stopwatch;

/// `malloc` and `free`, which `alloc_interpose` answers.
struct C;

impl churn::Door for C {
    #[inline(always)]
    fn allocate(bytes: usize) -> *mut u8 {
        // SAFETY: malloc accepts every size.
        unsafe { libc::malloc(bytes) }.cast()
    }

    #[inline(always)]
    unsafe fn free(block: *mut u8, _bytes: usize) {
        // SAFETY: as the caller promises.
        unsafe { libc::free(block.cast()) }
    }
}

fn main() {
    let session = std::env::var_os("CHURN_TIMELINE").map(|path| alloc_tracker::Session::builder().output(path).start());
    let session = session.transpose().expect("a session");
    churn::run::<C>(std::env::args().skip(1));
    drop(session);
}
