//! libtorch's errors, shortened to the reason and what the user can do.
use anyhow::{Error, Result, anyhow};
use tch::TchError;

/// Adds to an error of libtorch what it was doing.
pub(super) trait During<T> {
    /// Makes the error readable; `what` names what was being done.
    fn during(self, what: &str) -> Result<T>;
}

impl<T> During<T> for Result<T, TchError> {
    fn during(self, what: &str) -> Result<T> {
        self.map_err(|error| match error {
            // A file that could not be read: its text says all, and libtorch has no part in it.
            TchError::Io(error) => anyhow!("{what}: {error}"),
            error => readable(what, &error.to_string()),
        })
    }
}

/// The first line of the message is the reason; the lines below are a C++ stack and are left out.
fn readable(what: &str, full: &str) -> Error {
    let reason = full.lines().next().unwrap_or_default().trim_start_matches("Internal torch error: ");
    let next = if full.contains("can't allocate memory") || full.contains("not enough memory") {
        "give a smaller --batch or --image-size"
    } else {
        "see whether another --batch or --image-size does the same"
    };
    anyhow!("libtorch failed in {what}: {reason}; {next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_is_cut_off() {
        let full = "Internal torch error: err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate \
                    99 bytes.\nException raised from alloc_cpu at alloc_cpu.cpp:127\nframe #0: ...";
        assert_eq!(
            readable("the forward pass", full).to_string(),
            "libtorch failed in the forward pass: err == 0. DefaultCPUAllocator: can't allocate memory: you tried to \
             allocate 99 bytes.; give a smaller --batch or --image-size"
        );
    }
}
