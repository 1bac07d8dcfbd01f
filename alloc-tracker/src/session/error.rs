//! The error of sessions.
use std::path::PathBuf;

/// The reason why a session could not start, or why its timeline could not be written.
///
/// ```no_run
/// use alloc_tracker::{Session, SessionError};
///
/// match Session::builder().output("run.timeline.json").start() {
///     Ok(session) => drop(session.finish()),
///     Err(SessionError::AlreadyRecording) => eprintln!("this process is recorded already"),
///     Err(error) => eprintln!("{error}"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// This process has a session that is not finished.
    #[error("a session is recording already; finish it before starting another")]
    AlreadyRecording,
    /// The timeline, or a dump of it, cannot be written to this path.
    #[error("{path}: the timeline cannot be written there: {reason}; choose another path with SessionBuilder::output")]
    Output {
        /// The path of the timeline or the dump.
        path: PathBuf,
        /// Why not: mostly what the operating system said.
        reason: std::io::Error,
    },
    /// The operating system has no thread for the recorder.
    #[error("the recorder's thread cannot be started: {0}")]
    Thread(std::io::Error),
    /// Rust's allocations and C's go to two allocators, so that the tracker cannot tell which of the two a block came
    /// from.
    #[error(
        "Rust's allocations go to {allocator} and C's to the tracker's own allocator: leave out `use alloc_interpose as _`, or use `Tracker` instead of `Over`"
    )]
    TwoBackends {
        /// The type name of the allocator under `Over`.
        allocator: &'static str,
    },
    /// The process may hardly map anything more.
    #[error("{limit} leaves {left_mib} MiB of {limit_mib}, and a recording takes {}: raise it (ulimit)", Self::ROOM_BYTES >> 20)]
    Room {
        /// Which limit: `RLIMIT_AS` or `RLIMIT_DATA` (getrlimit(2)).
        limit: &'static str,
        /// The limit, in MiB.
        limit_mib: u64,
        /// What the process may still map, in MiB.
        left_mib: u64,
    },
    /// The run is over and its timeline could not be written.
    #[error(
        "{path}: the timeline could not be written: {reason}; the log {log} holds what was recorded{}: `viewer recover {log}`",
        but_for(losses)
    )]
    Store {
        /// The path of the timeline that could not be written.
        path: PathBuf,
        /// The path of the log beside it, which holds the recording.
        log: PathBuf,
        /// What the operating system said.
        reason: std::io::Error,
        /// What the recording lost, one sentence for each loss; for example that the log ends early.
        losses: Vec<String>,
    },
    /// The session has ended already, for example because another thread has called `exit`.
    #[error("the session has ended already")]
    Ended,
}

/// What the log does not hold.
fn but_for(losses: &[String]) -> String {
    if losses.is_empty() { String::new() } else { format!(" but for this: {}", losses.join("; ")) }
}

impl SessionError {
    /// What a limit of mappings must leave for a session to start, in bytes. The recorder's threads, their memory and its buffers
    /// take 143 MiB of addresses (VmSize of `cat` with a session less that without one); without them jemalloc crashes in one of those threads.
    pub(crate) const ROOM_BYTES: u64 = 192 << 20;
}
