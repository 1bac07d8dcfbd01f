//! What the rest of the viewer works with: a run with its name, owners with their bytes, and how numbers are written.
mod bytes;
#[cfg(test)]
pub(crate) mod fixture;
mod parts;
mod run;
mod short;
mod time;

pub use bytes::{Unit, change, exact, exact_change, share, size};
pub use parts::{Parts, parts};
pub use run::{Run, name_of, text_of};
pub use short::shortened;
pub use time::{date, time};
