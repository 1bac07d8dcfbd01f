//! Tensors in shared memory: the Python package tells when one is mapped or handed over, and the program itself when it is unmapped, by
//! the C library's function for that, which this library has a function in front of.
use std::ffi::{c_int, c_void};

use alloc_tracker::Category;
use alloc_tracker::unaided::{about_to_unmap, tensor_handed_over, tensor_mapped};

/// A tensor's storage is mapped, for processes to share; it is a batch of data, or it is not known what it is for.
#[unsafe(no_mangle)]
pub extern "C" fn alloc_tracker_tensor_mapped(address: usize, bytes: u64, is_input: bool) {
    tensor_mapped(address, bytes, is_input.then_some(Category::Input));
}

/// A tensor's storage is another process's from now on.
#[unsafe(no_mangle)]
pub extern "C" fn alloc_tracker_tensor_handed_over(address: usize) {
    tensor_handed_over(address);
}

/// `munmap(2)`. The allocator of this library comes here as well, with any lock held; of an address where no tensor's storage is, nothing
/// is told.
///
/// # Safety
/// As for the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(address: *mut c_void, bytes: usize) -> c_int {
    // Before another thread can map something at this address.
    about_to_unmap(address.addr(), bytes);
    // SAFETY: as the caller promises. The C library's function is this system call and nothing else, and sets `errno` as this one does.
    unsafe { libc::syscall(libc::SYS_munmap, address, bytes) as c_int }
}
