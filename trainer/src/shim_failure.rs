//! Why a function of the shim failed.
use std::ffi::{CStr, c_char};

use tch::TchError;

/// Where the shim writes what an exception of libtorch's says: text that ends in 0.
pub(crate) struct ShimFailure([u8; Self::ROOM]);

impl ShimFailure {
    /// How many bytes the shim may write to [`Self::as_mut_ptr`].
    pub(crate) const ROOM: usize = 1024;

    /// Before the call.
    pub(crate) fn none() -> Self {
        ShimFailure([0; Self::ROOM])
    }

    /// For the shim, which writes at most [`Self::ROOM`] bytes.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr().cast()
    }

    /// What it wrote.
    pub(crate) fn error(&self) -> TchError {
        let text = CStr::from_bytes_until_nul(&self.0).map(CStr::to_string_lossy).unwrap_or_default();
        TchError::Torch(text.into_owned())
    }
}
