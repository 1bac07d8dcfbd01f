//! The type of what probes read at one instant.
use std::borrow::Cow;

/// Bytes by the probe's name; `None` for a reading that failed.
pub type Readings = Vec<(Cow<'static, str>, Option<u64>)>;
