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
//! The modules stand on floors, and a module uses only floors below its own: `model`, `load`, `analysis`, then `check`,
//! `export` and `view`, and `cli` on top. `cli` turns a command line into calls of the others and an exit code. Nothing
//! below `cli` prints, and only `cli` and `load` touch files.
#![forbid(unsafe_code)]

// Each group uses only the groups above it.
pub mod model;

pub mod load;

pub mod analysis;

pub mod check;
pub mod export;
pub mod view;

pub mod cli;
