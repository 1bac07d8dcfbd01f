//! The program takes all memory that a limit on the address space leaves, bears it that there is no more, and gives everything
//! back; and this five times. Whoever records it must bear that too.
use std::ffi::c_void;
use std::hint::black_box;
use std::thread::sleep;
use std::time::Duration;

use alloc_interpose as _;
use alloc_tracker::phase;

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const BLOCK: usize = 20_000;
/// What the limit leaves: 6,000 blocks, less what a recorder takes.
const ROOM: u64 = 128 << 20;
/// The recorder ticks some times meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

fn main() {
    let mut blocks: Vec<*mut c_void> = Vec::with_capacity(2 * ROOM as usize / BLOCK);
    let session = session();
    limit_address_space(statm(0) + ROOM);
    let mut least = usize::MAX;
    {
        let _phase = phase!("all there is");
        for _ in 0..5 {
            loop {
                // SAFETY: malloc accepts every size.
                let block = black_box(unsafe { libc::malloc(BLOCK) });
                if block.is_null() {
                    break;
                }
                // SAFETY: the block is live and has so many bytes.
                unsafe { block.cast::<u8>().write_bytes(1, BLOCK) };
                blocks.push(block);
            }
            least = least.min(blocks.len());
            sleep(PAUSE);
            // SAFETY: each block is live and freed once.
            blocks.drain(..).for_each(|block| unsafe { libc::free(block) });
        }
    }
    check_that("blocks were to be had each time", least > 100, least);
    limit_address_space(libc::RLIM_INFINITY);
    finish(session);
}
