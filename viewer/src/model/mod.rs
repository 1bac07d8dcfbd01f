//! The data that the rest of the viewer works with: a run and its names, and how numbers are written.
mod book_lines;
mod bytes;
mod device_snapshot;
mod in_shell;
mod operation;
mod scope;
mod short;
mod shown;
mod time;

mod run;

#[cfg(test)]
pub(crate) mod fixture;

pub use book_lines::{COARSE_ALLOCATOR, MemoryKind, UNEXPLAINED, kind_of, meaning_of};
pub use bytes::{Unit, change, exact, exact_change, share, size};
pub use device_snapshot::{DeviceSnapshot, PoolId, SnapshotBlock, SnapshotSegment, SnapshotSettings, TraceEntry};
pub use in_shell::in_shell;
pub use operation::operation_of;
pub use run::{Run, name_of, text_of};
pub use scope::{Pass, ScopeNames, pass_of, scope_of};
pub use short::shortened;
pub use shown::{is_unfit, is_unfit_in_lines, shown};
pub use time::{date, parse_time, time};
