//! libtorch's errors, cut down to what a user can do something about.
use anyhow::{Error, Result, anyhow};
use tch::TchError;

/// Says what libtorch was doing when it failed.
pub(super) trait During<T> {
    /// The error, readable, with `what` was being done.
    fn during(self, what: &str) -> Result<T>;
}

impl<T> During<T> for Result<T, TchError> {
    fn during(self, what: &str) -> Result<T> {
        self.map_err(|error| readable(what, &error.to_string()))
    }
}

/// libtorch writes its reason on the first line and a C++ stack below.
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
