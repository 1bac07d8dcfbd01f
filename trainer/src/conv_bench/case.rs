//! What is measured, and what one run of it gave.
use std::fmt;

use crate::settings::Mode;

/// One convolution: as many channels out as in, a square kernel, an image that keeps its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) mode: Mode,
    /// Images in a step.
    pub(super) batch: u64,
    /// Height and width of the kernel.
    pub(super) kernel: u64,
    pub(super) channels: u64,
    /// Height and width of the images in pixels.
    pub(super) image_size: u64,
    pub(super) threads: u64,
}

/// One run of a case, in a process of its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) case: Case,
    /// Counted from 1.
    pub(super) repeat: u64,
    /// Every step, the first one included.
    pub(super) step_ns: Vec<u64>,
    /// Most live bytes, exact.
    pub(super) peak_live_bytes: u64,
    /// Of these, what the operator allocated and freed itself.
    pub(super) peak_workspace_bytes: u64,
    pub(super) peak_rss_bytes: Option<u64>,
}

impl Run {
    /// The steps without the first, which warms up; a lone step itself.
    pub(super) fn steady_ns(&self) -> &[u64] {
        if self.step_ns.len() > 1 { &self.step_ns[1..] } else { &self.step_ns }
    }
}

impl Case {
    /// Floating-point operations of the forward pass: a multiplication and an addition for each weight and output pixel.
    pub(super) fn forward_operations(&self) -> u64 {
        let Case { batch, kernel, channels, image_size, .. } = self;
        2 * batch * channels * channels * kernel * kernel * image_size * image_size
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} batch {} kernel {}x{}", self.mode, self.batch, self.kernel, self.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 x 4 images x 32 x 32 channels x 9 weights x 16 pixels.
    #[test]
    fn operations_of_a_forward_pass() {
        let case = Case { mode: Mode::Infer, batch: 4, kernel: 3, channels: 32, image_size: 4, threads: 1 };
        assert_eq!(case.forward_operations(), 2 * 4 * 1024 * 9 * 16);
        assert_eq!(case.to_string(), "infer batch 4 kernel 3x3");
    }
}
