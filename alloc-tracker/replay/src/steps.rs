//! Steps: which one is open, how many there were, and how high the last one was.

/// A step that has begun and not ended.
#[derive(Clone, Copy, Debug)]
pub struct OpenStep {
    /// Counted from 1.
    pub index: u64,
    pub start_ns: u64,
    /// Whether operators told of it, and not the program.
    pub is_derived: bool,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Steps {
    open: Option<OpenStep>,
    begun: u64,
    last_peak: Option<i64>,
}

impl Steps {
    /// The open step.
    pub fn open(&self) -> Option<OpenStep> {
        self.open
    }

    /// How many steps have begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The most live bytes of the step that ended last.
    pub fn last_peak(&self) -> Option<i64> {
        self.last_peak
    }

    /// The next step begins.
    pub fn begin(&mut self, start_ns: u64, is_derived: bool) {
        self.begun += 1;
        self.open = Some(OpenStep { index: self.begun, start_ns, is_derived });
    }

    /// The program says where its steps begin: a derived one that is open has been none.
    pub fn withdraw_derived(&mut self) {
        if self.open.take_if(|open| open.is_derived).is_some() {
            self.begun -= 1;
        }
    }

    /// The open step ends, in which `peak` bytes were the most; gives it, if there is one.
    pub fn end(&mut self, peak: i64) -> Option<OpenStep> {
        let ended = self.open.take()?;
        self.last_peak = Some(peak);
        Some(ended)
    }
}
