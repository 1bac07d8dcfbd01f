//! What a replay makes of events that were made up by hand: exact numbers, each with the reason for it.
mod program;

mod blocks;
mod devices;
mod ending;
mod peaks;
mod reads;
mod samples;
mod steps;
