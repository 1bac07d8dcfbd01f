//! A site: one stack in one scope, and what its samples add up to.
use crate::high_water::HighWaterMarks;
use crate::sampled::Sampled;
use crate::scope::ScopeId;
use crate::site_table::SiteRow;

/// See the module's description.
#[derive(Debug)]
pub struct Site {
    stack: u32,
    scope: ScopeId,
    /// What its samples add up to.
    pub sampled: Sampled,
}

impl Site {
    /// No sample has been taken there yet.
    pub fn new(stack: u32, scope: ScopeId) -> Self {
        Site { stack, scope, sampled: Sampled::default() }
    }

    /// The site as the table has it.
    pub fn row(&self, marks: &HighWaterMarks) -> SiteRow {
        SiteRow { stack: self.stack, scope: self.scope, sums: self.sampled.sums(marks) }
    }
}
