//! The functions of the C++ shim, made safe to call.
use std::ffi::c_void;

use alloc_torch_core::Storage;
use tch::Tensor;

unsafe extern "C" {
    fn alloc_torch_watch_ops(with_inputs: bool);
    fn alloc_torch_watch_storages();
    fn alloc_torch_storage(tensor: *const c_void) -> usize;
}

/// Watches operators from now on; with inputs, each tells which storages it takes.
pub fn watch_operators(with_inputs: bool) {
    // SAFETY: it only registers callbacks that stay valid for the process's life.
    unsafe { alloc_torch_watch_ops(with_inputs) };
}

/// Watches CPU storages from now on. Once is enough.
pub fn watch_storages() {
    // SAFETY: it only registers an allocator that forwards to the one before, and stays valid for the process's life.
    unsafe { alloc_torch_watch_storages() };
}

/// The storage of a tensor; `None` when the tensor has none of its own.
pub fn storage(tensor: &Tensor) -> Option<Storage> {
    if !tensor.defined() {
        return None;
    }
    // SAFETY: `as_ptr` is the at::Tensor that the Tensor owns, alive for the call.
    Storage::at(unsafe { alloc_torch_storage(tensor.as_ptr().cast()) })
}
