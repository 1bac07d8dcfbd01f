//! jemalloc with its own sampling profiler, which `_RJEM_MALLOC_CONF=prof:true` starts; otherwise as the tracker sets it.
use std::ffi::{CStr, c_char};

#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The tracker's settings (`alloc-tracker/src/door/backend.rs`).
const CONFIG: &CStr = c"oversize_threshold:0,dirty_decay_ms:-1,muzzy_decay_ms:-1";

/// jemalloc looks this symbol up when it starts.
#[unsafe(export_name = "_rjem_malloc_conf")]
#[used]
pub static MALLOC_CONF: Option<&'static c_char> =
    // SAFETY: the pointer is that of a C string constant, valid for ever and never null.
    unsafe { CONFIG.as_ptr().as_ref() };

fn main() {
    peers::main();
}
