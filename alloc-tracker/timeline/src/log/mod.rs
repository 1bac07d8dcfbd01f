//! The log: what a recorder writes while the program runs, and what a killed program leaves behind.
//!
//! A log is a text file beside the timeline to come. Each line is one [`Record`](crate::Record) as JSON. The first is a
//! [`Record::Start`](crate::Record::Start); a log that was ended in order ends with a
//! [`Record::End`](crate::Record::End).
//!
//! ```text
//! Record -> Writer -> a file or memory -> Reader -> recover -> Timeline
//!              \                            /
//!               LogFile: Compaction -> Compacted      a log that has grown long is written anew, shorter
//! ```
//!
//! Lines reach the operating system in one write each time the recorder flushes, and are not forced to the disk: they
//! survive the death of the process, not that of the machine. A process that is killed in the middle of a write leaves
//! a last line that is cut short. That is no error: the lines before it count, and [`recover`] says how much it left out.

// Each group uses only the groups above it.
mod beside;
mod reader;
mod writer;

mod compact;
mod recover;

mod log_file;

pub use beside::{is_being_written, path_beside, set_aside};
pub use compact::{Compacted, Compaction};
pub use log_file::LogFile;
pub use reader::Reader;
pub use recover::{RecoverError, Recovered, recover};
pub use writer::{Writer, write_all};
