//! Memory of every kind that the book of the resident set has a line for, in known amounts, with a book after each.
//! Writes the timeline named by its first argument and leaves in it, as facts, what the names of parts depend on;
//! `tests/book.rs` looks for each of them.
use std::hint::black_box;
use std::os::fd::FromRawFd;
use std::path::Path;
use std::sync::mpsc;
use std::{fs, ptr, slice};

use alloc_interpose as _;
use alloc_tracker::Session;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const MIB: usize = 1 << 20;

fn main() {
    let path = std::env::args().nth(1).expect("the timeline's path");
    let session = Session::builder().output(&path).fact("model", "book").start().expect("a session");
    session.mark_with_book("start");
    map_and_write_half(&session);
    map_files(&session, Path::new(&path));
    share(&session);
    let (told, deep) = use_a_stack(&session);
    let fragments = fragment(&session);
    keep_dirty(&session);
    untouched(&session);
    align(&session);
    fork(&session);
    black_box(fragments);
    drop(told);
    deep.join().expect("the thread");
    session.finish().expect("the timeline");
}

/// 64 MiB of which the first half is written, and 32 MiB without a reservation of which a quarter is.
fn map_and_write_half(session: &Session) {
    let mapping = map(64 * MIB, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1);
    write_pages(mapping, 32 * MIB);
    session.fact("mapping", format!("{mapping:p}"));
    session.mark_with_book("mapped");
    let unreserved = map(32 * MIB, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1);
    write_pages(unreserved, 8 * MIB);
    session.fact("unreserved", format!("{unreserved:p}"));
    session.mark_with_book("unreserved");
}

/// A file of 8 MiB that is read as a whole, and one of 1 MiB of which ten pages are written privately.
fn map_files(session: &Session, beside: &Path) {
    let files = [("read.bin", 8 * MIB), ("written.bin", MIB)].map(|(name, bytes)| {
        let path = beside.with_file_name(name);
        fs::write(&path, vec![7u8; bytes]).expect("a file");
        let file = fs::File::options().read(true).write(true).open(&path).expect("the file");
        (path, map(bytes, libc::MAP_PRIVATE, std::os::fd::AsRawFd::as_raw_fd(&file)), bytes)
    });
    let [(read, bytes, length), (written, copied, _)] = files;
    // SAFETY: the mapping has so many bytes, and nobody writes to it or to the file.
    let sum: u64 = unsafe { slice::from_raw_parts(bytes, length) }.iter().map(|&byte| u64::from(byte)).sum();
    assert_eq!(sum, 7 * length as u64);
    write_pages(copied, 10 * page());
    session.fact("read", read.display().to_string());
    session.fact("written", written.display().to_string());
    session.mark_with_book("files");
}

/// A memfd of 16 MiB, 12 MiB of it written, and a System V segment of 4 MiB, all written.
fn share(session: &Session) {
    // SAFETY: the name is a C string; the descriptor is this function's own, and closing it leaves the mapping.
    let memory = unsafe { fs::File::from_raw_fd(libc::memfd_create(c"victim-pool".as_ptr(), 0)) };
    memory.set_len(16 * MIB as u64).expect("a length");
    let pool = map(16 * MIB, libc::MAP_SHARED, std::os::fd::AsRawFd::as_raw_fd(&memory));
    write_pages(pool, 12 * MIB);
    // SAFETY: a new segment, attached at an address of the kernel's choice; it goes when the process ends.
    let segment = unsafe {
        let id = libc::shmget(libc::IPC_PRIVATE, 4 * MIB, 0o600);
        let segment = libc::shmat(id, ptr::null(), 0);
        libc::shmctl(id, libc::IPC_RMID, ptr::null_mut());
        segment
    };
    assert_ne!(segment.addr(), usize::MAX, "{}", std::io::Error::last_os_error());
    write_pages(segment.cast(), 4 * MIB);
    session.mark_with_book("shared");
}

/// A thread called `deep` that uses 5 MiB of its stack and then waits until the sender is dropped.
fn use_a_stack(session: &Session) -> (mpsc::Sender<()>, std::thread::JoinHandle<()>) {
    let (ready, used) = mpsc::channel();
    let (sender, receiver) = mpsc::channel::<()>();
    let thread = std::thread::Builder::new().name("deep".to_owned()).stack_size(8 * MIB).spawn(move || {
        let mut used = [0u8; 5 * MIB];
        write_pages(black_box(used.as_mut_ptr()), 5 * MIB);
        ready.send(resident_stack()).expect("the main thread waits");
        let _ = receiver.recv();
        black_box(&used);
    });
    let used: u64 = used.recv().expect("the thread's stack");
    session.fact("stack", used);
    session.mark_with_book("stack");
    (sender, thread.expect("a thread"))
}

/// Resident bytes of the calling thread's stack, by mincore over the addresses that the thread library tells.
fn resident_stack() -> u64 {
    // SAFETY: the attributes are filled in by pthread_getattr_np before they are used, and destroyed once; mincore
    // writes a byte for each page of the stack, which is mapped.
    unsafe {
        let mut attributes = std::mem::zeroed();
        assert_eq!(libc::pthread_getattr_np(libc::pthread_self(), &mut attributes), 0);
        let (mut start, mut bytes) = (ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut start, &mut bytes);
        libc::pthread_attr_destroy(&mut attributes);
        let mut pages = vec![0u8; bytes / page()];
        assert_eq!(libc::mincore(start, bytes, pages.as_mut_ptr()), 0);
        (pages.iter().filter(|&&byte| byte & 1 == 1).count() * page()) as u64
    }
}

/// 25,000 slabs of jemalloc's class of 1 KiB, four blocks each, of which one stays.
fn fragment(session: &Session) -> Vec<Option<Box<[u8; 1_000]>>> {
    let mut blocks: Vec<_> = (0..100_000).map(|_| Some(Box::new([3u8; 1_000]))).collect();
    empty_the_threads_cache();
    session.mark_with_book("before fragments");
    blocks.iter_mut().enumerate().filter(|(index, _)| index % 4 != 0).for_each(|(_, block)| *block = None);
    empty_the_threads_cache();
    session.mark_with_book("fragments");
    blocks
}

/// Otherwise jemalloc gives blocks from the cache back to their slabs whenever it likes, and slabs that are empty then to the
/// dirty pages.
fn empty_the_threads_cache() {
    if std::env::var("ALLOC_TRACKER_BACKEND").as_deref() == Ok("jemalloc") {
        // SAFETY: the name is a C string; this control neither reads nor writes anything.
        let failed = unsafe {
            let (none, nothing) = (ptr::null_mut(), ptr::null_mut());
            tikv_jemalloc_sys::mallctl(c"thread.tcache.flush".as_ptr(), none, nothing, ptr::null_mut(), 0)
        };
        assert_eq!(failed, 0);
    }
}

/// 80 and 20 MiB, which are size classes of jemalloc, written and given back to it.
fn keep_dirty(session: &Session) {
    let blocks = black_box([vec![5u8; 80 * MIB], vec![5u8; 20 * MIB]]);
    session.mark_with_book("before dirty");
    drop(blocks);
    session.mark_with_book("dirty");
}

/// 160 MiB that are never written; the dirty pages are too few for them.
fn untouched(session: &Session) {
    let block = black_box(Vec::<u8>::with_capacity(160 * MIB));
    session.mark_with_book("untouched");
    drop(block);
}

/// 24 MiB at an alignment of 64 bytes, as libtorch's tensors are, and 3 MiB at one of two pages, all written.
fn align(session: &Session) {
    session.mark_with_book("before aligned");
    let blocks = [(64, 24 * MIB), (2 * page(), 3 * MIB)].map(|(alignment, bytes)| {
        let mut block = ptr::null_mut();
        // SAFETY: `block` is valid for writing, and the alignment is a power of two.
        assert_eq!(unsafe { libc::posix_memalign(&mut block, alignment, bytes) }, 0);
        write_pages(block.cast(), bytes);
        black_box(block)
    });
    session.mark_with_book("aligned");
    // SAFETY: both blocks are live, came from the C family, and are not used again.
    blocks.into_iter().for_each(|block| unsafe { libc::free(block) });
}

/// A child that shares all of its parent's pages, and waits until the parent has its book.
fn fork(session: &Session) {
    session.mark_with_book("before fork");
    // SAFETY: the child only waits for the signal that ends it.
    let child = unsafe {
        let child = libc::fork();
        if child == 0 {
            loop {
                libc::pause();
            }
        }
        child
    };
    session.mark_with_book("forked");
    // SAFETY: the child is this function's own; nobody waits for it but this call.
    let ended = unsafe { (libc::kill(child, libc::SIGKILL), libc::waitpid(child, ptr::null_mut(), 0)) };
    assert_eq!(ended, (0, child));
}

fn map(bytes: usize, flags: i32, file: i32) -> *mut u8 {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0) };
    assert_ne!(start, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
    // Otherwise the kernel may make pages resident that were not touched.
    // SAFETY: the advice changes no content.
    unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
    start.cast()
}

fn write_pages(start: *mut u8, bytes: usize) {
    for offset in (0..bytes).step_by(page()) {
        // SAFETY: the caller's mapping has so many bytes.
        unsafe { start.add(offset).write_volatile(1) };
    }
}

fn page() -> usize {
    // SAFETY: sysconf only reads a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}
