//! Ways to end a process with a session open; the second argument names one. Each has an atexit handler that allocates.
//! Where the end leaves no time to write the timeline, the program first waits until its blocks are in the log.
use std::fs::File;
use std::hint::black_box;
use std::os::fd::{AsRawFd, FromRawFd};

use alloc_interpose as _;
use alloc_tracker::phase;

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

extern "C" fn handler() {
    let _phase = phase!("handler");
    for size in [1, 100, 100_000] {
        drop(black_box(vec![0u8; size]));
        // SAFETY: malloc accepts every size, and free any block of it.
        unsafe { libc::free(black_box(libc::malloc(size))) };
    }
    println!("ok handler");
}

/// Writes to all pages of a mapping of `file`, which it makes `bytes` long before and `left` after.
fn write_beyond(file: &File, bytes: usize, left: u64) {
    file.set_len(bytes as u64).expect("a long file");
    let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a mapping of a file of that length, at a place of the kernel's choice. That the pages are not there when
    // they are written is what is tried.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), bytes, read_write, shared, file.as_raw_fd(), 0);
        assert_ne!(start, libc::MAP_FAILED);
        file.set_len(left).expect("a short file");
        for offset in (0..bytes).step_by(4096) {
            start.cast::<u8>().add(offset).write_volatile(1);
        }
    }
}

fn limit(resource: libc::__rlimit_resource_t, most: u64) {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the limit is valid for reading.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
}

/// Lets 256 MiB more be mapped, and takes them. The number of `statm` is what the limit counts now.
fn use_up(resource: libc::__rlimit_resource_t, number: usize) -> ! {
    limit(resource, statm(number) + (256 << 20));
    // SAFETY: malloc accepts every size, and free what it gave.
    unsafe {
        set_errno(0);
        let block = black_box(libc::malloc(1 << 30));
        check("too much at once", (block.is_null(), errno()), (true, libc::ENOMEM));
        libc::free(block);
    }
    let mut blocks = Vec::new();
    loop {
        blocks.push(black_box(vec![1u8; 16 << 20]));
        if blocks.len() == 6 {
            println!("ok room for six");
        }
    }
}

fn main() {
    limit(libc::RLIMIT_CORE, 0);
    // SAFETY: the handler has the signature asked for and stays valid.
    unsafe { libc::atexit(handler) };
    let session = session();
    // SAFETY: as above.
    unsafe { libc::atexit(handler) };
    let trick = trick();
    println!("ok began");
    let _phase = phase!("held");
    let _held = black_box(vec![1u8; 100_000]);
    if !["return", "exit", "exit in a thread", "return while a thread finishes", "panic"].contains(&trick.as_str()) {
        settle();
    }
    match trick.as_str() {
        "return" => std::mem::forget(session),
        "exit" => std::process::exit(3),
        "return while a thread finishes" => {
            let (tell, told) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let _ = tell.send(());
                drop(session);
            });
            let _ = told.recv();
            std::thread::sleep(std::time::Duration::from_micros(300));
        }
        "exit in a thread" => {
            let _ = std::thread::spawn(|| std::process::exit(3)).join();
        }
        // SAFETY: ends the process without handlers.
        "_exit" => unsafe { libc::_exit(3) },
        // SAFETY: as above.
        "_Exit" => unsafe { _Exit(3) },
        // SAFETY: ends the process with those of at_quick_exit, of which there are none.
        "quick_exit" => unsafe { quick_exit(3) },
        "abort" => std::process::abort(),
        // SAFETY: there is nothing at that address, which is what is tried.
        "segv" => unsafe { black_box(16 as *mut u8).write_volatile(1) },
        "bus" => {
            // SAFETY: a fresh file of nobody else's; the name is a C string.
            let file = unsafe { File::from_raw_fd(libc::memfd_create(c"trap".as_ptr(), 0)) };
            write_beyond(&file, 8192, 0);
        }
        "full disk" => {
            let path = std::path::PathBuf::from(output().expect("a timeline")).with_file_name("disk/file");
            let file = File::options().read(true).write(true).create_new(true).open(path).expect("a file");
            write_beyond(&file, 4 << 20, 4 << 20);
        }
        "cpu" => {
            limit(libc::RLIMIT_CPU, 1);
            loop {
                drop(black_box(vec![1u8; 1000]));
            }
        }
        "as" => use_up(libc::RLIMIT_AS, 0),
        "data" => use_up(libc::RLIMIT_DATA, 5),
        "memory" => {
            let mut blocks = Vec::new();
            loop {
                blocks.push(black_box(vec![1u8; 1 << 20]));
                if blocks.len() == 32 {
                    settle();
                }
            }
        }
        "panic" => panic!("as asked"),
        other => panic!("no trick {other:?}"),
    }
}
