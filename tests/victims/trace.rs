//! The traces of the oracle's programs, tracked or not: three of them, each the same to the byte in every run. No size
//! is 0, because valgrind counts that as 1. No block of Rust's that is aligned beyond 16 bytes is resized, because
//! `System` makes a second block for that.
use std::ffi::c_void;
use std::hint::black_box;

#[path = "trap_kit.rs"]
mod kit;
use kit::Random;

/// Runs the trace of that name.
pub fn run(name: &str, seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    match name {
        "family" => family(&mut random),
        "tree" => drop(black_box(tree(&mut random, 9))),
        "growing" => growing(&mut random),
        other => panic!("no trace {other}"),
    }
}

/// 1 to 200,000 bytes, small ones as likely as large ones.
fn size(random: &mut Random) -> usize {
    let most = 1 << random.below(18);
    1 + random.below(most) as usize
}

/// The C malloc family: 400 places, of which each is filled, resized or emptied 30 times.
fn family(random: &mut Random) {
    let mut places = [std::ptr::null_mut::<c_void>(); 400];
    for _ in 0..12_000 {
        let place = &mut places[random.below(400) as usize];
        let (bytes, alignment) = (size(random), 16 << random.below(9));
        // SAFETY: the sizes are not 0, the alignments powers of two of at least 16; a place holds a live block or null,
        // is given back once, and is overwritten with what came of it.
        unsafe {
            if place.is_null() {
                match random.below(5) {
                    0 | 1 => *place = libc::malloc(bytes),
                    2 => *place = libc::calloc(1 + bytes / 8, 8),
                    3 => *place = libc::memalign(alignment, bytes),
                    _ => assert_eq!(libc::posix_memalign(place, alignment, bytes), 0),
                }
            } else if random.below(2) == 0 {
                *place = libc::realloc(*place, bytes);
            } else {
                libc::free(std::mem::replace(place, std::ptr::null_mut()));
            }
        }
    }
    for place in places {
        // SAFETY: as above.
        unsafe { libc::free(place) };
    }
}

/// A tree of boxes with names, which drops some of its branches while it grows.
pub struct Node {
    _name: String,
    #[expect(clippy::vec_box, reason = "each node shall be a block of its own")]
    _branches: Vec<Box<Node>>,
}

fn tree(random: &mut Random, depth: u64) -> Box<Node> {
    let name = "n".repeat(1 + random.below(100) as usize);
    let mut branches = Vec::new();
    if depth > 0 {
        for _ in 0..1 + random.below(4) {
            branches.push(tree(random, depth - 1));
        }
        if branches.len() > 3 {
            branches.swap_remove(0);
        }
    }
    Box::new(Node { _name: name, _branches: branches })
}

/// Vectors that grow in turn, and blocks of 64-byte alignment that come and go.
fn growing(random: &mut Random) {
    #[repr(align(64))]
    struct Aligned(#[allow(dead_code, reason = "it is there to be allocated")] [u8; 100]);
    let mut vectors: Vec<Vec<u32>> = Vec::new();
    let mut aligned = Vec::with_capacity(300);
    for round in 0..40_000u32 {
        match random.below(100) {
            0 => vectors.push(Vec::new()),
            1 if vectors.len() > 20 => drop(vectors.swap_remove(0)),
            2 if aligned.len() < 300 => aligned.push(Box::new(Aligned([0; 100]))),
            3 => drop(aligned.pop()),
            4 => vectors.iter_mut().for_each(Vec::shrink_to_fit),
            _ if vectors.is_empty() => {}
            at => {
                let index = at as usize % vectors.len();
                vectors[index].extend([round; 7]);
            }
        }
    }
    black_box((vectors, aligned));
}
