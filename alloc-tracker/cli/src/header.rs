//! `alloc-tracker header`: the header of programs in C and C++.
use std::io::Write;

use anyhow::Context;

use crate::failure::Failure;

const HEADER: &str = include_str!("../../c/include/alloc_tracker.h");

/// Prints the header on stdout.
pub fn print() -> Result<u8, Failure> {
    std::io::stdout().write_all(HEADER.as_bytes()).context("cannot write the header")?;
    Ok(0)
}
