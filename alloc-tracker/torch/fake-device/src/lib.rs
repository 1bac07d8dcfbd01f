//! A device of libtorch without hardware, for tests of what a device tells: blocks of its memory as they come and go, on the
//! threads of the autograd engine too. Nothing of the product uses it.
//!
//! ```no_run
//! fake_device::register();
//! let weights = fake_device::full(1024, 0.5).expect("room");
//! let squares = &weights * &weights; // computed by the CPU, held in the device's memory
//! # let _ = squares;
//! ```
use std::ffi::c_void;

use tch::Tensor;

/// As PyTorch calls the device.
pub const NAME: &str = "fake:0";
/// The size of each block is a multiple of this.
pub const ROUNDING: u64 = 512;

/// A block that the device's allocator handed out or took back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Told {
    /// Where it starts.
    pub address: u64,
    /// How large it is; negative for one that was taken back.
    pub bytes: i64,
    /// The kernel's number of the thread.
    pub thread: i64,
}

unsafe extern "C" {
    fn fake_device_register();
    fn fake_device_full(elements: i64, value: f32) -> *mut c_void;
    fn fake_device_told() -> usize;
    fn fake_device_event(index: usize, event: *mut Told);
}

/// Makes libtorch know the device. To be called once, before its first tensor.
pub fn register() {
    // SAFETY: it stores a pointer to an object that stays.
    unsafe { fake_device_register() };
}

/// A tensor of 32-bit floats in the device's memory, all of them `value`; `None` where libtorch cannot make it.
pub fn full(elements: i64, value: f32) -> Option<Tensor> {
    // SAFETY: it takes numbers, and gives an at::Tensor that belongs to the caller, or null.
    let made = unsafe { fake_device_full(elements, value) };
    // SAFETY: not null, and nobody else owns it.
    (!made.is_null()).then(|| unsafe { Tensor::from_ptr(made.cast()) })
}

/// All blocks that came and went so far, in order.
pub fn told() -> Vec<Told> {
    // SAFETY: the number only grows, so each index is below it; the event is written whole.
    let event = |index| unsafe {
        let mut event = Told::default();
        fake_device_event(index, &mut event);
        event
    };
    // SAFETY: it only counts.
    (0..unsafe { fake_device_told() }).map(event).collect()
}
