//! Carries out the orders of a trace, one at a time, each on the thread that it names: `victim-model OUT TRACE`. At the
//! end it prints the usable bytes of the block of each order; `tests/model` adds them up.
//!
//! ```text
//! threads 3             how many, numbered from 0
//! end alive             or `joined`: whether the threads still run when the session is finished
//! 0 p 2                 thread 0 enters phase 2 (m2); `l` a layer, `x` leaves the innermost
//! 0 m 7 100             malloc of 100 bytes, to place 7
//! 1 c 8 3 100           calloc; `a` posix_memalign (alignment, size), `n` and `z` Rust's (size, alignment), zeroed
//! 1 r 7 200             realloc; `g` Rust's (old size, alignment, new size)
//! 2 f 7                 free; `d` Rust's (size, alignment)
//! 2 b                   begins a step; `e` ends it
//! ```
//!
//! While the trace runs, nothing else allocates: all tables are made before, and a mutex needs no memory.
use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use alloc_interpose as _;
use alloc_tracker::{ScopeGuard, Session, layer, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const PHASES: [&str; 4] = ["", "m1", "m2", "m3"];
const LAYERS: [&str; 4] = ["", "l1", "l2", "l3"];
const DEPTH: usize = 8;

#[derive(Clone, Copy)]
struct Order {
    thread: usize,
    what: char,
    numbers: [usize; 4],
}

struct Trace {
    threads: usize,
    alive: bool,
    orders: Vec<Order>,
    /// The address of the block at each place.
    places: Vec<AtomicUsize>,
    /// The usable bytes of the block that each order made or resized.
    usable: Vec<AtomicUsize>,
}

impl Trace {
    fn read(text: &str) -> Trace {
        let mut lines = text.lines();
        let mut head = || lines.next().and_then(|line| line.split_once(' ')).expect("two words").1;
        let (threads, alive) = (head().parse().expect("a number"), head() == "alive");
        let orders: Vec<Order> = lines.map(order).collect();
        let places = orders.iter().map(|order| order.numbers[0]).max().unwrap_or(0) + 1;
        let zeros = |count| std::iter::repeat_with(AtomicUsize::default).take(count).collect();
        Trace { threads, alive, places: zeros(places), usable: zeros(orders.len()), orders }
    }

    /// Carries out order `number`, which belongs to the calling thread.
    fn obey(&self, number: usize, guards: &mut [Option<ScopeGuard>; DEPTH], depth: &mut usize) {
        let Order { what, numbers: [first, a, b, c], .. } = self.orders[number];
        let mut enter = |guard| {
            guards[*depth] = Some(guard);
            *depth += 1;
        };
        match what {
            'p' => enter(phase!(PHASES[first])),
            'l' => enter(layer!(LAYERS[first])),
            'x' => {
                *depth -= 1;
                guards[*depth] = None;
            }
            'b' => with_session(Session::begin_step),
            'e' => with_session(Session::end_step),
            _ => {
                let place = &self.places[first];
                // SAFETY: the trace names places with live blocks only, with the sizes and alignments that they have.
                let block = unsafe { allocate(what, place.load(Ordering::Relaxed), [a, b, c]) };
                place.store(block, Ordering::Relaxed);
                // SAFETY: null, or the block that came of the order.
                let usable = unsafe { libc::malloc_usable_size(block as *mut c_void) };
                self.usable[number].store(usable, Ordering::Relaxed);
            }
        }
    }
}

fn order(line: &str) -> Order {
    let mut words = line.split(' ');
    let mut word = || words.next();
    let thread = word().and_then(|word| word.parse().ok()).expect("a thread");
    let what = word().and_then(|word| word.chars().next()).expect("an order");
    let numbers = [(); 4].map(|()| word().map_or(0, |word| word.parse().expect("a number")));
    Order { thread, what, numbers }
}

/// The address of the block that the order makes or resizes; 0 where it frees the block.
///
/// # Safety
/// Where the order is about a block, that block is live and was made with these numbers, through the same door; only
/// C's `free` takes blocks of either door.
unsafe fn allocate(what: char, block: usize, [a, b, c]: [usize; 3]) -> usize {
    let layout = |size, alignment| Layout::from_size_align(size, alignment).expect("a layout");
    // SAFETY: as the caller promises; the sizes of Rust's layouts are not 0.
    unsafe {
        match what {
            'm' => return some(libc::malloc(a)),
            'c' => return some(libc::calloc(a, b)),
            'a' => {
                let mut aligned = null_mut();
                assert_eq!(libc::posix_memalign(&mut aligned, a, b), 0);
                return some(aligned);
            }
            'n' => return some(std::alloc::alloc(layout(a, b)).cast()),
            'z' => return some(std::alloc::alloc_zeroed(layout(a, b)).cast()),
            // A realloc to nothing is a free.
            'r' if a == 0 => assert!(libc::realloc(block as *mut c_void, 0).is_null()),
            'r' => return some(libc::realloc(block as *mut c_void, a)),
            'g' => return some(std::alloc::realloc(block as *mut u8, layout(a, b), c).cast()),
            'f' => libc::free(block as *mut c_void),
            'd' => std::alloc::dealloc(block as *mut u8, layout(a, b)),
            other => panic!("no order {other}"),
        }
    }
    0
}

fn some(block: *mut c_void) -> usize {
    assert!(!block.is_null());
    block.addr()
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    /// So many threads have started.
    Assembling(usize),
    /// It is the turn of the order with this number.
    Order(usize),
    /// All orders are carried out, and all threads end.
    Over,
}

static TURN: Mutex<Turn> = Mutex::new(Turn::Assembling(0));
static CHANGED: Condvar = Condvar::new();

fn set(turn: Turn) {
    *TURN.lock().expect("no panic") = turn;
    CHANGED.notify_all();
}

fn wait_for(expected: Turn) {
    drop(CHANGED.wait_while(TURN.lock().expect("no panic"), |turn| *turn != expected).expect("no panic"));
}

/// The recording, until it is finished.
static SESSION: Mutex<Option<Session>> = Mutex::new(None);

fn with_session(act: impl FnOnce(&Session)) {
    act(SESSION.lock().expect("no panic").as_ref().expect("not finished yet"));
}

fn finish() {
    let session = SESSION.lock().expect("no panic").take();
    session.expect("not finished yet").finish().expect("the timeline");
}

fn work(own: usize, trace: &Trace) {
    let mut guards = [const { None }; DEPTH];
    let mut depth = 0;
    // The mark publishes what starting the threads has allocated.
    with_session(|session| session.mark("ready"));
    let mut turn = TURN.lock().expect("no panic");
    if let Turn::Assembling(count) = &mut *turn {
        *count += 1;
    }
    CHANGED.notify_all();
    loop {
        match *turn {
            Turn::Over => return,
            Turn::Order(number) if trace.orders.get(number).is_some_and(|order| order.thread == own) => {
                trace.obey(number, &mut guards, &mut depth);
                *turn = Turn::Order(number + 1);
                if trace.orders.get(number + 1).is_none_or(|order| order.thread != own) {
                    CHANGED.notify_all();
                }
            }
            _ => turn = CHANGED.wait(turn).expect("no panic"),
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, out, trace] = &arguments[..] else { panic!("a path for the timeline and a trace") };
    let trace = Trace::read(&std::fs::read_to_string(trace).expect("the trace"));
    *SESSION.lock().expect("no panic") = Some(Session::builder().output(out).start().expect("a session"));
    std::thread::scope(|scope| {
        let trace = &trace;
        for own in 0..trace.threads {
            scope.spawn(move || work(own, trace));
        }
        wait_for(Turn::Assembling(trace.threads));
        with_session(|session| session.snapshot("began"));
        set(Turn::Order(0));
        wait_for(Turn::Order(trace.orders.len()));
        if trace.alive {
            finish();
        }
        set(Turn::Over);
    });
    if !trace.alive {
        finish();
    }
    let usable = trace.usable.iter().map(|usable| usable.load(Ordering::Relaxed).to_string());
    println!("{}", usable.collect::<Vec<_>>().join(" "));
}
