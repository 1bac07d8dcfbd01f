//! The kernel refuses memory for tags. The heap goes on where the shadow map has no chunk yet, and a limit on the address
//! space leaves room for blocks and for no chunk. Blocks without a tag then lie beside blocks that have one, in a layer
//! whose chunks cover more of the heap. What the program stores must stay as it is while all of them are freed, resized
//! and allocated again.
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

use alloc_interpose as _;
use alloc_tracker::{hooks, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// As many blocks take some 5 MB.
const BLOCKS: usize = 30_000;
/// How often more blocks are made when all of those before have tags.
const TRIES: usize = 5;
const STEPS: usize = 300_000;
const SIZES: [usize; 7] = [24, 40, 100, 128, 200, 300, 448];
/// Two chunks of the fine layer cover as much.
const AWAY: usize = 512 << 20;
/// What the limit leaves: room for the blocks and for a recorder that follows each of them, and not for the 32 MiB of a
/// chunk.
const ROOM: u64 = 24 << 20;

/// Makes the kernel place what is mapped next further down.
fn go_away() {
    // SAFETY: a mapping of its own, which nobody touches.
    let away = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        libc::mmap(ptr::null_mut(), AWAY, libc::PROT_NONE, flags, -1, 0)
    };
    assert_ne!(away, libc::MAP_FAILED);
}

/// A block that is full of a byte of its own.
struct Filled {
    block: *mut u8,
    bytes: usize,
    with: u8,
}

impl Filled {
    /// Takes over `block`, which has at least `bytes`; `None` for null.
    fn new(block: *mut c_void, bytes: usize, with: u8) -> Option<Self> {
        let block = black_box(block).cast::<u8>();
        if block.is_null() {
            return None;
        }
        // SAFETY: the block is live and has so many bytes.
        unsafe { block.write_bytes(with, bytes) };
        Some(Filled { block, bytes, with })
    }

    fn is_intact(&self) -> bool {
        // SAFETY: the block is live and was filled.
        unsafe { std::slice::from_raw_parts(self.block, self.bytes) }.iter().all(|&byte| byte == self.with)
    }

    /// It is what it was when the C library refuses.
    fn resize(self, bytes: usize) -> Self {
        // SAFETY: the block is live, and not used any more unless there is no new one.
        let resized = unsafe { libc::realloc(self.block.cast(), bytes) };
        Filled::new(resized, bytes, self.with).unwrap_or(self)
    }

    fn free(self) {
        // SAFETY: the block is live, and freed once.
        unsafe { libc::free(self.block.cast()) }
    }
}

fn main() {
    let mut held: Vec<Option<Filled>> = Vec::with_capacity(TRIES * BLOCKS);
    let session = session();
    let mut random = Random(7);
    let mut size = move || SIZES[random.below(SIZES.len() as u64) as usize];
    let mut make = move |index: usize| {
        let bytes = size();
        // SAFETY: malloc accepts every size.
        Filled::new(unsafe { libc::malloc(bytes) }, bytes, index as u8)
    };
    {
        let _phase = phase!("beyond the limit");
        let mut untagged = 0;
        // A recorder's thread may have a chunk mapped there before the limit stands. Then we go further away.
        for _ in 0..TRIES {
            limit_address_space(libc::RLIM_INFINITY);
            go_away();
            limit_address_space(statm(0) + ROOM);
            held.extend((0..BLOCKS).map(&mut make));
            untagged = held.iter().flatten().filter(|filled| hooks::size_of(filled.block).is_none()).count();
            if untagged > BLOCKS / 10 {
                break;
            }
        }
        println!("untagged {untagged}");
        let (mut random, mut intact, mut looked_at) = (Random(11), 0, 0);
        for _ in 0..STEPS {
            let index = random.below(held.len() as u64) as usize;
            held[index] = match held[index].take() {
                None => make(index),
                Some(filled) => {
                    looked_at += 1;
                    intact += usize::from(filled.is_intact());
                    if random.below(4) == 0 {
                        Some(filled.resize(SIZES[random.below(SIZES.len() as u64) as usize]))
                    } else {
                        filled.free();
                        None
                    }
                }
            };
        }
        check("blocks are as they were", intact, looked_at);
        held.drain(..).flatten().for_each(Filled::free);
    }
    limit_address_space(libc::RLIM_INFINITY);
    finish(session);
}
