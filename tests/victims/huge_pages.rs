//! The kernel's setting for transparent huge pages.

/// Whether the kernel makes huge pages of whatever it can. Pages that nobody touched are resident then, beside others that
/// somebody did.
pub fn are_always_on() -> bool {
    std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").is_ok_and(|text| text.contains("[always]"))
}
