//! What the kernel and the machine's power sensors say, read as text, and the arithmetic of energy.
//!
//! ```text
//! /proc/stat, /proc/self/task ----> cores, threads            processor time
//! /sys, text of a vendor's tool --> rapl, battery, ina3221, logged
//!                                       \--> sources --Reading--> meter --energy of an interval--> split
//! ```
//!
//! Every finder takes the root of the file system, so that tests give it a folder with the files of another machine.
//! What is not there is a sentence that begins with `unavailable: `, never a figure of 0.
#![forbid(unsafe_code)]

mod cores;
mod pmic;
mod reading;
mod split;
mod tegrastats;
mod threads;

mod file;
mod meter;
mod source;

mod battery;
mod ina3221;
mod rapl;

mod logged;

mod sources;

#[cfg(test)]
mod machines_tests;

pub use cores::{CoreTime, MOST_SINGLE_CORES, busy_permille, core_times, summary};
pub use meter::Meter;
#[cfg(feature = "gpu")]
pub use reading::Reading;
#[cfg(feature = "gpu")]
pub use source::Kind;
pub use source::{About, Source};
pub use sources::find;
pub use split::{NO_SCOPE, split};
pub use threads::{ThreadTime, thread_times};
