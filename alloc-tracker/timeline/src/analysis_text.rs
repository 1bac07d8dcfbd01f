//! The latest analysis as text: a recorder keeps one for long, and its tables of names take a multiple of the text that a file has of
//! them.
use std::sync::Arc;

use crate::analysis::Analysis;

/// An analysis as JSON.
#[derive(Clone, Debug)]
pub struct AnalysisText(Arc<str>);

impl AnalysisText {
    /// The text of `analysis`.
    pub fn of(analysis: &Analysis) -> Self {
        // Writing to memory, and no map with keys that are not strings: this cannot fail.
        AnalysisText(serde_json::to_string(analysis).unwrap_or_default().into())
    }

    /// The text itself.
    pub fn json(&self) -> &str {
        &self.0
    }

    /// The analysis. It is there: the text is of one.
    pub fn analysis(&self) -> Option<Analysis> {
        serde_json::from_str(&self.0).ok()
    }
}
