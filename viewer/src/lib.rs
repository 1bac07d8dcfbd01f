//! Draws, compares, reports and checks the timelines that alloc-tracker writes.
//!
//! Data flows through the modules in this order:
//!
//! ```text
//! timeline.json -> load -> model -> analysis -> view    SVG, terminal, HTML
//!                                           \-> export  formats of other tools
//!                                           \-> check   the gate for CI
//! ```
//!
//! `cli` is the door: it turns a command line into one call down that row and an exit code. Nothing below `cli`
//! prints, and nothing but `cli` and `load` touches files.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod check;
pub mod cli;
pub mod export;
pub mod load;
pub mod model;
pub mod view;
