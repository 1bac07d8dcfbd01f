//! Trains and runs MobileNetV1 and ResNet-18 on libtorch, each layer a scope, each run a timeline.
//!
//! The modules stand on floors; each uses only modules of the floors above it in this list:
//!
//! ```text
//! exit_code, console     how the program ends, lines for the user
//! interrupt              Ctrl-C and SIGTERM
//! data                   IDX files -> images and labels -> batches of tensors
//! model                  stages -> shapes -> plan, minimum of memory; stages -> weights -> network
//! settings               what one run does
//! run                    one run: batches through the network, step by step, into a timeline
//! cli                    what can be typed
//! check                  what was typed -> settings, or a refusal
//! compare                many runs, a process each; their timelines -> a table
//! program                the command line -> check -> run, compare or plan -> exit code
//! ```
//!
//! Everything that only needs shapes (parameter counts, the bytes saved for backward) is computed from the list of
//! stages in `model`, without touching libtorch: tests compare the measured bytes with that.

mod console;
mod exit_code;

mod interrupt;

mod data;

mod model;

mod settings;

mod run;

mod cli;

mod check;

mod compare;

mod program;

pub use program::main;
