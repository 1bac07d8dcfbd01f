//! Reads a timeline back, and says what is wrong with a file that is none.
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::contradiction::contradiction;
use crate::file::{FORMAT_NAME, FORMAT_VERSION, Timeline};

/// Why a file could not be read as a timeline.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be opened or read.
    #[error("{path}: cannot be read")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Nothing stands in it.
    #[error("{path}: the file is empty; the run that should have written it did not finish")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It ends in the middle.
    #[error("{path}: the file is truncated at byte {bytes}; it was not written to its end")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// It is JSON, or text, or something else, but no timeline.
    #[error("{path}: not a timeline: {reason}")]
    NotATimeline {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// It was written by a newer version of the tool.
    #[error(
        "{path}: timeline format version {found} is newer than this viewer reads ({FORMAT_VERSION}); use a newer viewer"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A timeline in name, but its numbers contradict each other.
    #[error("{path}: damaged timeline: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which numbers.
        reason: String,
    },
}

/// Reads the timeline at `path`.
///
/// # Errors
/// When the file cannot be read, and when [`parse`] refuses it.
///
/// ```no_run
/// let timeline = alloc_timeline::load("run.timeline.json")?;
/// println!("{} bytes were live after {} ns", timeline.peak.live_bytes, timeline.peak.time_ns);
/// # Ok::<(), alloc_timeline::LoadError>(())
/// ```
pub fn load(path: impl AsRef<Path>) -> Result<Timeline, LoadError> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|source| LoadError::Io { path: path.to_owned(), source })?;
    parse(&bytes, path)
}

/// Reads a timeline from memory; `path` is what errors call it.
///
/// # Errors
/// When `bytes` are no whole timeline of a version that this crate knows, or one whose numbers contradict each other.
pub fn parse(bytes: &[u8], path: impl AsRef<Path>) -> Result<Timeline, LoadError> {
    let path = path.as_ref().to_owned();
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(LoadError::Empty { path });
    }
    /// Just enough to tell what a file claims to be.
    #[derive(Deserialize)]
    struct Claim {
        format: Option<String>,
        format_version: Option<u64>,
    }
    let claim: Claim = match serde_json::from_slice(bytes) {
        Ok(claim) => claim,
        Err(error) if error.is_eof() || cut_short(bytes) => {
            return Err(LoadError::Truncated { path, bytes: bytes.len() as u64 });
        }
        Err(error) => return Err(LoadError::NotATimeline { path, reason: error.to_string() }),
    };
    match claim.format.as_deref() {
        Some(FORMAT_NAME) => {}
        Some(other) => {
            return Err(LoadError::NotATimeline { path, reason: format!("its \"format\" is \"{other}\"") });
        }
        None => {
            let reason = format!("it has no \"format\": \"{FORMAT_NAME}\"");
            return Err(LoadError::NotATimeline { path, reason });
        }
    }
    match claim.format_version {
        Some(version) if version > u64::from(FORMAT_VERSION) => Err(LoadError::Newer { path, found: version }),
        Some(version) if version >= 1 => {
            let timeline: Timeline = serde_json::from_slice(bytes)
                .map_err(|error| LoadError::Damaged { path: path.clone(), reason: error.to_string() })?;
            match contradiction(&timeline) {
                None => Ok(timeline),
                Some(reason) => Err(LoadError::Damaged { path, reason }),
            }
        }
        _ => Err(LoadError::NotATimeline { path, reason: "its \"format_version\" is missing or 0".to_owned() }),
    }
}

/// Whether `bytes` begin as an object and do not end as one.
fn cut_short(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    text.starts_with(b"{") && !text.ends_with(b"}")
}
