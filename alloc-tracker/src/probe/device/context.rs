//! How much the process has on a device beyond what its allocator has reserved: the driver's context and what libraries such
//! as cuBLAS and cuDNN add. Seen by readings at which the allocator's part is known to stand still.
//!
//! ```text
//! reserved      0       0     20     20     40     40
//! process      14     412    440    460    490    490
//!             half a        420  +20 |      |  +0 |     420 beyond the first segments, grown by 20 since
//!             context                unknown            what was added as segments were is in no figure: it stays unexplained
//! ```
//!
//! CUDA makes a context in some tenths of a second, at the first use of the device, and the first segment follows at once. So a reading before
//! that may find half a context.
use super::inputs::ContextInputs;

/// One reading of the two, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextReading {
    /// The process's bytes by NVML.
    pub process: u64,
    /// What the allocator had reserved before the process's bytes were read, and after.
    pub reserved: (u64, u64),
}

/// The readings so far.
#[derive(Clone, Debug, Default)]
pub struct ContextWatch {
    inputs: ContextInputs,
    last: Option<ContextReading>,
}

impl ContextWatch {
    /// Takes a reading in; `None` when there was none.
    pub fn observe(&mut self, reading: Option<ContextReading>) {
        // While the allocator reserved more in the middle of the reading, the two figures do not belong together.
        let last =
            std::mem::replace(&mut self.last, reading.filter(|reading| reading.reserved.0 == reading.reserved.1));
        let Some(reading) = self.last else { return };
        let reserved = reading.reserved.0;
        if reading.process < reserved {
            self.inputs.problem = Some(format!(
                "NVML's count of this process fell back: {} bytes while the allocator had reserved {reserved}",
                reading.process
            ));
            self.last = None;
        } else if reserved == 0 {
            self.inputs.before_first_segment = Some(reading.process).filter(|&bytes| bytes > 0);
            // After the last segment the context is whole.
            self.inputs.beyond_segments = self.inputs.beyond_segments.map(|_| reading.process as i64);
            self.inputs.grown_since = 0;
        } else if self.inputs.beyond_segments.is_none() {
            self.inputs.beyond_segments = Some(reading.process as i64 - reserved as i64);
            self.inputs.grown_since = 0;
        } else if let Some(last) = last.filter(|last| last.reserved.0 == reserved) {
            self.inputs.grown_since += reading.process as i64 - last.process as i64;
        }
    }

    /// What the readings say.
    pub fn inputs(&self) -> ContextInputs {
        self.inputs.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(readings: &[(u64, u64)]) -> ContextInputs {
        let mut watch = ContextWatch::default();
        for &(process, reserved) in readings {
            watch.observe(Some(ContextReading { process, reserved: (reserved, reserved) }));
        }
        watch.inputs()
    }

    /// The example of the module's description.
    #[test]
    fn growth_counts_while_the_allocator_stands_still() {
        let readings = [(14, 0), (412, 0), (440, 20), (460, 20), (490, 40), (490, 40)];
        let expected = ContextInputs {
            before_first_segment: Some(412),
            beyond_segments: Some(420),
            grown_since: 20,
            problem: None,
        };
        assert_eq!(watched(&readings), expected);
        let emptied = watched(&[&readings[..], &[(455, 0), (475, 20)]].concat());
        assert_eq!((emptied.beyond_segments, emptied.grown_since), (Some(455), 0), "no segment any more");
    }

    #[test]
    fn what_was_not_seen_is_not_made_up() {
        assert_eq!(watched(&[(440, 20), (460, 20)]).before_first_segment, None);
        assert_eq!(watched(&[(0, 0), (440, 20)]).before_first_segment, None, "no context before the first segment");
        assert_eq!(watched(&[(0, 0), (412, 0)]).beyond_segments, None, "no segment");
        let mut watch = ContextWatch::default();
        for reading in [(480, (20, 40)), (500, (20, 40))] {
            watch.observe(Some(ContextReading { process: reading.0, reserved: reading.1 }));
        }
        watch.observe(None);
        assert_eq!(watch.inputs(), ContextInputs::default());
    }

    #[test]
    fn a_count_that_falls_back_is_a_problem() {
        let inputs = watched(&[(412, 0), (440, 20), (5, 20), (440, 20)]);
        let said = "NVML's count of this process fell back: 5 bytes while the allocator had reserved 20";
        assert_eq!((inputs.problem.as_deref(), inputs.grown_since), (Some(said), 0));
    }
}
