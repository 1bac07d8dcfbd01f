//! A source of readings: one or more sensors that are read together.
use super::reading::Reading;

/// The instrument behind a sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The processor's own counters of energy.
    Rapl,
    /// A battery that is being discharged.
    Battery,
    /// A power monitor on the board, as Jetsons have.
    Ina3221,
    /// Text of tegrastats that somebody writes to a file.
    Tegrastats,
    /// Text of `vcgencmd pmic_read_adc` that somebody writes to a file.
    Pmic,
    /// The driver of an NVIDIA GPU.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code))]
    Nvml,
}

impl Kind {
    /// The name in the timeline.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rapl => "rapl",
            Kind::Battery => "battery",
            Kind::Ina3221 => "ina3221",
            Kind::Tegrastats => "tegrastats",
            Kind::Pmic => "pmic",
            Kind::Nvml => "nvml",
        }
    }
}

/// What a sensor measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The name of the part of the machine: `package-0`, `VDD_IN`, ...
    pub name: String,
    /// The instrument.
    pub kind: Kind,
    /// The name of the sensor that measures this part along with others. Whoever sums up sensors leaves out such parts.
    pub part_of: Option<String>,
    /// Where the readings come from.
    pub origin: String,
}

type Read = Box<dyn FnMut() -> Vec<Result<Reading, String>> + Send>;

/// Sensors that are read together.
pub struct Source {
    /// What each of them measures.
    pub about: Vec<About>,
    read: Read,
}

impl Source {
    /// A source. `read` gives a reading of each sensor, in the order of `about`, or a sentence on why it cannot.
    pub fn new(about: Vec<About>, read: impl FnMut() -> Vec<Result<Reading, String>> + Send + 'static) -> Source {
        Source { about, read: Box::new(read) }
    }

    /// A source of one sensor.
    pub(super) fn single(about: About, mut read: impl FnMut() -> Result<Reading, String> + Send + 'static) -> Source {
        Source::new(vec![about], move || vec![read()])
    }

    /// A reading of each sensor, or a sentence on why there is none.
    pub fn read(&mut self) -> Vec<Result<Reading, String>> {
        (self.read)()
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("about", &self.about).finish_non_exhaustive()
    }
}
