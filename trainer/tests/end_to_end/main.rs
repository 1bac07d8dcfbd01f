//! The binary as people call it. One program has all of these tests: it links once.
mod common;

mod advise;
mod allocators;
mod bad_input;
mod checkpoint;
mod conv_bench;
mod data;
mod frozen;
mod limits;
mod optimizers;
mod precision;
mod reproduce;
mod runs;
mod sweep;
mod tables;
mod variations;
