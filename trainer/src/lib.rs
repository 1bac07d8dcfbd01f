//! Trains and runs networks on libtorch, each layer a scope, each run a timeline.
//!
//! The modules stand on floors; each uses only modules of the floors above it in this list:
//!
//! ```text
//! exit_code, console     how the program ends, lines for the user
//! device                 the device that a network runs on
//! figures                bytes, times and tables as text
//! machine, written       the machine that numbers are of; files that are whole or not there
//! chart                  lines, columns and box plots as SVG
//! interrupt              Ctrl-C and SIGTERM
//! optimizer              what updates the parameters, and how much it keeps
//! precision              the numbers that a network computes in
//! random                 random numbers that are the same everywhere
//! shim_failure           why libtorch failed, where tch has no function of its own
//! data                   IDX files -> images and labels, texts -> tokens and labels -> batches of tensors
//! reinforcement          a game, what a player sees of it, and a memory of what was played
//! model                  stages -> shapes -> plan, minimum of memory; stages -> weights -> network
//! checkpoint             which maps a step keeps and which it computes again -> plans that run
//! allocator              what is typed of an allocator -> its binary and environment
//! settings               what one run does
//! limit                  a command inside a limit of memory
//! run                    one run: batches through the network, step by step, into a timeline
//! cli                    what can be typed
//! model_flags            what can be typed for some networks alone
//! check                  what was typed -> settings, or a refusal
//! child                  one run in a process of its own
//! compare                many runs, a process each; their timelines -> a table
//! limited                a command under one limit after the other -> a table
//! fit                    a few batches measured -> does it fit, checked by limited runs; largest batches from plans
//! tables                 published, planned and measured memory of training steps, side by side
//! rounds                 many runs: their order, and the time that is left
//! advise                 changes of a training step, in rounds -> what to change first
//! sweep                  every combination of many settings, in rounds -> tables, statistics, a page of plots
//! conv_bench             one convolution, kernel by kernel -> time and memory
//! reproduce              rows of the study -> commands of this program, a process each -> results -> pages
//! program                the command line -> check -> run, compare, limited, fit, sweep or plan -> exit code
//! ```
//!
//! Everything that only needs shapes (parameter counts, the bytes saved for backward) is computed from the list of
//! stages in `model`, without touching libtorch: tests compare the measured bytes with that.

mod console;
mod device;
mod exit_code;
mod figures;
mod written;

mod machine;

mod chart;

mod interrupt;
mod precision;
mod random;
mod shim_failure;

mod data;
mod optimizer;
mod reinforcement;

mod model;

mod checkpoint;

mod allocator;
mod settings;

mod run;

mod limit;

mod cli;

mod model_flags;

mod check;

mod child;

mod compare;
mod limited;

mod fit;
mod tables;

mod rounds;

mod advise;
mod conv_bench;
mod sweep;

mod reproduce;

mod program;

pub use program::main;
