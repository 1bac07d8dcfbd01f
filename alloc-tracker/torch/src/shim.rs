//! The functions of the C++ shim, made safe to call.
use std::ffi::{c_char, c_void};

use alloc_torch_core::Storage;
use tch::Tensor;

unsafe extern "C" {
    fn alloc_torch_watch_ops(with_inputs: bool);
    fn alloc_torch_watch_storages();
    fn alloc_torch_storage(tensor: *const c_void) -> usize;
    fn alloc_torch_tensor(tensor: *const c_void) -> usize;
    fn alloc_torch_keep_identity(tensor: *const c_void);
    fn alloc_torch_has_device() -> bool;
    fn alloc_torch_watch_devices();
    fn alloc_torch_device_name(kind: i8, index: i8, name: *mut c_char, room: usize) -> usize;
    fn alloc_torch_device_stats(kind: i8, index: i8, figures: *mut u64) -> bool;
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

/// What tells a defined tensor from all others, whatever its storage.
pub fn identity(tensor: &Tensor) -> usize {
    // SAFETY: `as_ptr` is the at::Tensor that the Tensor owns, alive for the call.
    unsafe { alloc_torch_tensor(tensor.as_ptr().cast()) }
}

/// Keeps [`identity`] from being given to another tensor, for the process's life.
pub fn keep_identity(tensor: &Tensor) {
    // SAFETY: as above; it makes a weak reference, which is never freed.
    unsafe { alloc_torch_keep_identity(tensor.as_ptr().cast()) };
}

/// Whether there is a device besides the CPU.
pub fn has_device() -> bool {
    // SAFETY: it only asks.
    unsafe { alloc_torch_has_device() }
}

/// Watches the blocks of devices from now on.
pub fn watch_devices() {
    // SAFETY: it only makes threads report to an object that stays for the process's life.
    unsafe { alloc_torch_watch_devices() };
}

/// Gives `use_name` the name of a device, as PyTorch has it: `cuda:0`. `None` when it has none.
pub fn with_device_name<T>(kind: i8, index: i8, use_name: impl FnOnce(&str) -> T) -> Option<T> {
    let mut name = [0u8; 64];
    // SAFETY: it writes at most as many bytes as there is room for, and says how many.
    let length = unsafe { alloc_torch_device_name(kind, index, name.as_mut_ptr().cast(), name.len()) };
    let text = std::str::from_utf8(name.get(..length)?).ok()?;
    (!text.is_empty()).then(|| use_name(text))
}

/// The figures of a device's caching allocator, in the shim's order; `None` when it cannot be asked.
pub fn device_stats(kind: i8, index: i8) -> Option<[u64; 14]> {
    let mut figures = [0; 14];
    // SAFETY: it writes fourteen figures, or returns false.
    unsafe { alloc_torch_device_stats(kind, index, figures.as_mut_ptr()) }.then_some(figures)
}
