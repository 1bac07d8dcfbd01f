//! The library that `alloc-tracker record` preloads: it starts a session before `main` and finishes it when the process ends
//! or becomes another program. The program knows nothing of it.
//!
//! Its settings come in the environment, and every program that the process starts inherits them:
//!
//! | variable | meaning |
//! |---|---|
//! | `ALLOC_TRACKER_RECORD=PATH` | where the timeline goes; `%p` stands for the process id. Without it, nothing is recorded |
//! | `ALLOC_TRACKER_FOLLOW=all` | which processes: `all`; `torch`, those that have loaded libtorch at their end; `none`, the first program alone |
//! | `ALLOC_TRACKER_RECORDER=PID` | the process that started the first program, which is recognised by that |
//!
//! | file | what it has |
//! |---|---|
//! | `settings.rs` | the variables above |
//! | `next.rs` | the functions of the C library that ours stand before |
//! | `output.rs` | a path that no other process and no earlier program of this process has |
//! | `loadable.rs` | whether a program that is about to be started can load this library |
//! | `children.rs` | children that are not recorded, or that cannot load this library |
//! | `begin.rs` | the start before `main`, and in forked children |
//! | `loaded.rs` | what the process has loaded, by name |
//! | `exits.rs` | `_exit` and `_Exit`, which run no exit handler |
//! | `unloading.rs` | `dlclose` |
//! | `interrupted.rs` | `kill`, by which a program ends itself after Ctrl-C |
//! | `exec.rs` | the exec family, which replaces the program |
//! | `exec_list.rs` | those of the family that take any number of arguments |
//! | `spawn.rs` | `posix_spawn` |
//! | `shared_memory.rs` | tensors in shared memory, and `munmap` |
//! | `definition.rs` | functions as Python is told of them |
//! | `vectorcall.rs` | how Python's functions are called |
//! | `interpreter.rs` | the functions of the process's own Python |
//! | `method.rs` | methods of Python's classes that this library has |
//! | `python/` | what Python imports, the arenas of its objects, and its frames in sampled stacks |
//! | `thread_count.rs` | the number of threads that a program reads of itself |
//! | `torch/` | what libtorch does, for Python programs |
//!
//! Left out: system calls that go past the C library. A program that ends or replaces itself by one leaves its log, and
//! `viewer recover` makes a timeline of that.
//!
//! What a recorded program may notice: it has four more threads, which `fopen` of `/proc/self/stat` does not show (so `unshare` of a user namespace is refused, as in any program
//! with threads) and these variables. Its descriptors are its own. Where a kernel before 5.9 in a container refuses the recorder a
//! table of its own, it has some more open files, with high numbers (one that closes all of its files may do so: the recorder
//! opens its own again).
// What C and C++ programs may call.
use alloc_c as _;
use alloc_interpose as _;

mod definition;
mod loadable;
mod loaded;
#[cfg_attr(not(feature = "stacks"), allow(dead_code, reason = "stacks need more of it than torch does"))]
mod memory;

mod vectorcall;

mod interpreter;

mod method;

mod next;
mod python;
mod settings;
mod shared_memory;
mod thread_count;
mod torch;

mod output;

mod children;

mod begin;

mod exits;

// Without stacks nobody asks where code is.
#[cfg(feature = "stacks")]
mod unloading;

mod interrupted;

mod exec;
mod spawn;

#[cfg(target_arch = "x86_64")]
mod exec_list;
