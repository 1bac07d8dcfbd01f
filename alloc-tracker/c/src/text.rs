//! Texts of C.
use std::borrow::Cow;
use std::ffi::{CStr, c_char};

/// What a C string says; nothing for null. Bytes that are no UTF-8 become replacement characters.
///
/// # Safety
/// `text` is null or a C string that lives as long as the result.
pub unsafe fn read<'a>(text: *const c_char) -> Cow<'a, str> {
    if text.is_null() {
        return Cow::Borrowed("");
    }
    // SAFETY: it is not null, and so a C string, as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}
