//! The arguments of the command line.
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Records programs that know nothing of the tracker, and asks something of them while they run.
#[derive(Debug, Parser)]
#[command(name = "alloc-tracker", version)]
#[command(after_help = "Exit codes of record: the program's own; 128 and the signal's number when a signal ended it; \
    125 the tool could not do its work, 126 the program cannot be executed, 127 there is no such program.")]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program and record who allocates its memory, one timeline for each process
    Record(RecordArgs),
    /// Write a copy of the timeline so far of a process that is being recorded
    Dump(ProcessArgs),
    /// Add a mark to the timeline of a process that is being recorded
    Mark(MarkArgs),
    /// Finish the recording of a process, which goes on
    Stop(ProcessArgs),
    /// Print alloc_tracker.h, with which programs in C and C++ name their layers and phases
    Header,
}

/// The arguments of `record`.
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// The timeline to write; %p stands for the process id. Processes that the program starts get their id into the name
    /// anyway. Without it: PROGRAM-%p.timeline.json
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Sample call stacks, on the average one for so many allocated bytes; `off` for none
    #[arg(long, value_name = "BYTES", default_value = "512KiB")]
    pub stacks: String,
    /// Follow every block, so that peaks have no uncertainty; the program becomes slower
    #[arg(long)]
    pub exact: bool,
    /// The allocator under the tracker. Without it: what ALLOC_TRACKER_BACKEND says, or else jemalloc
    #[arg(long, value_name = "ALLOCATOR")]
    pub backend: Option<Backend>,
    /// Which processes to record besides the first
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub follow: Follow,
    /// Leave Pythons as they are: layers, phases and operators of PyTorch are not told
    #[arg(long)]
    pub no_python: bool,
    /// Have Python get each small object from malloc, and not from arenas of its own: objects then belong to layers and stacks; Python
    /// becomes slower
    #[arg(long)]
    pub python_objects: bool,
    /// Print nothing after the program has ended, except for what went wrong
    #[arg(short, long)]
    pub quiet: bool,
    /// The program with its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// The allocator under the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// jemalloc, which the library has
    Jemalloc,
    /// The C library's own
    System,
}

impl Backend {
    /// The word in the library's environment.
    pub fn word(self) -> &'static str {
        match self {
            Backend::Jemalloc => "jemalloc",
            Backend::System => "system",
        }
    }
}

/// Which processes are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Follow {
    /// All that the program starts
    All,
    /// Those that have loaded libtorch when they end
    Torch,
    /// The first program alone
    None,
}

impl Follow {
    /// The word in the library's environment.
    pub fn word(self) -> &'static str {
        match self {
            Follow::All => "all",
            Follow::Torch => "torch",
            Follow::None => "none",
        }
    }
}

/// A process that is being recorded.
#[derive(Debug, clap::Args)]
pub struct ProcessArgs {
    /// Its process id
    pub pid: u32,
}

/// The arguments of `mark`.
#[derive(Debug, clap::Args)]
pub struct MarkArgs {
    /// The process id
    pub pid: u32,
    /// The mark's name
    pub name: String,
}
