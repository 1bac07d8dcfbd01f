//! The arguments of the command line.
use std::path::PathBuf;

use alloc_timeline::Dimension;
use clap::{Parser, Subcommand, ValueEnum};

use crate::analysis::{Measure, PEAK};
use crate::check::Limit;
use crate::view::FlameOrder;

/// Draws, compares, reports and checks the timelines that alloc-tracker writes.
#[derive(Debug, Parser)]
#[command(name = "viewer", version, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 fine, 1 a check failed, 2 the tool could not do its work.")]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) draw: DrawArgs,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Tell who owned the peak and whether it adds up
    Summary(FileArgs),
    /// Put several runs side by side, by phase, layer, op and category
    Compare(CompareArgs),
    /// Compare two runs and show only what differs
    Diff(DiffArgs),
    /// Write one self-contained HTML page about one or more runs
    Report(ReportArgs),
    /// Fail (exit 1) when a phase, layer or category at the peak grew beyond a baseline
    Check(CheckArgs),
    /// Show the account of the resident set, and why it is larger than the live bytes
    Reconcile(ReconcileArgs),
    /// Tell each phase's and layer's peak, what was retained and what passed, its largest block, and who freed its blocks
    Owners(TableArgs),
    /// Tell what becomes more from step to step, since when and how fast
    Growth(TableArgs),
    /// Tell whose memory was live at exit, what grew with every step first
    Leaks(TableArgs),
    /// Tell which bytes of the peak no operator read again: who made them, read them last, and held them
    Unread(TableArgs),
    /// Tell how large blocks were and how long they lived
    Lifetimes(FileArgs),
    /// Tell time, processor time and energy by phase, layer and operator, where the program was run with
    /// ALLOC_TRACKER_TIMES
    Power(TableArgs),
    /// Tell how long each phase, layer and operator took itself, forward and backward, where times were measured
    Times(TimesArgs),
    /// Tell what each step consists of, by phase, where times were measured
    Steps(TimesArgs),
    /// Tell the live bytes over time, by category, phase, layer or operator
    Series(SeriesArgs),
    /// Tell which calls allocated, where the program was run with ALLOC_TRACKER_STACKS
    Stacks(StacksArgs),
    /// Put a snapshot of PyTorch's caching allocator beside the model that predicts what it reserves
    DeviceSnapshot(SnapshotArgs),
    /// Write a timeline in the format of another tool
    Export(ExportArgs),
    /// Make timelines from the logs of processes that did not finish
    Recover(RecoverArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct DrawArgs {
    /// Timelines: for each, NAME.timeline.svg and NAME.flame.svg are written beside it, NAME.stacks.svg where there are
    /// stacks, NAME.rss.svg, stacked up to the resident set, where the samples say what that consists of, NAME.lanes.svg,
    /// how busy processors, GPUs and power sensors were on the same clock, and NAME.cost.svg, who costs memory and who time,
    /// where times were measured
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Write the pictures into this folder (made when it is not there)
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) pictures: PictureArgs,
    /// Rows of the table of owners
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(super) top: usize,
}

#[derive(Debug, clap::Args)]
pub(super) struct PictureArgs {
    /// What the bands of the timeline are split by
    #[arg(long = "by", value_name = "WHAT", default_value = "category")]
    pub(super) dimension: DimensionArg,
    /// In which order frames lie on each other, the lowest first
    #[arg(long, value_name = "ORDER", default_value = "phase,layer,op")]
    pub(super) flame_order: FlameOrder,
}

/// A [`Dimension`] on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum DimensionArg {
    Phase,
    Layer,
    Op,
    Category,
}

impl From<DimensionArg> for Dimension {
    fn from(typed: DimensionArg) -> Dimension {
        match typed {
            DimensionArg::Phase => Dimension::Phase,
            DimensionArg::Layer => Dimension::Layer,
            DimensionArg::Op => Dimension::Op,
            DimensionArg::Category => Dimension::Category,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct FileArgs {
    /// A timeline
    pub(super) file: PathBuf,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ReconcileArgs {
    /// A timeline
    pub(super) file: PathBuf,
    /// Of which instant: peak, the name of a mark, or a time since the session began, such as 1.5s or 300ms
    #[arg(long, value_name = "peak|TIME|MARK", default_value = PEAK)]
    pub(super) at: String,
    /// Write the account as a picture too: bars from the requested bytes up to the resident set
    #[arg(long, value_name = "OUT")]
    pub(super) svg: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct TableArgs {
    /// A timeline
    pub(super) file: PathBuf,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(super) json: bool,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(super) top: usize,
}

#[derive(Debug, clap::Args)]
pub(super) struct TimesArgs {
    /// A timeline
    pub(super) file: PathBuf,
    /// Leave out the first N steps, and those that were joined to one of them; without it three, or none where there are
    /// no more
    #[arg(long, value_name = "N")]
    pub(super) skip: Option<u64>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(super) json: bool,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(super) top: usize,
}

#[derive(Debug, clap::Args)]
pub(super) struct SeriesArgs {
    /// A timeline
    pub(super) file: PathBuf,
    /// What the bytes are split by
    #[arg(long = "by", value_name = "WHAT", default_value = "category")]
    pub(super) dimension: DimensionArg,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(super) json: bool,
    /// With --json: the biggest N names; all others are summed up under `rest`
    #[arg(long, value_name = "N", default_value_t = 12, requires = "json")]
    pub(super) top: usize,
    /// With --json: cut the time into N equal spans and tell of each the highest and the lowest instant
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = at_least_one, requires = "json")]
    pub(super) columns: usize,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("0 tells nothing; give 1 or more".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("`{text}` is no whole number; give 1 or more")),
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct StacksArgs {
    /// A timeline
    pub(super) file: PathBuf,
    /// Which bytes
    #[arg(long = "of", value_name = "WHAT", default_value = "peak")]
    pub(super) measure: MeasureArg,
    /// What has a row of its own
    #[arg(long = "by", value_name = "WHAT", default_value = "stack")]
    pub(super) rows: StackRows,
    /// Print one JSON object and nothing else
    #[arg(long, conflicts_with = "folded")]
    pub(super) json: bool,
    /// Print folded stacks, for flamegraphs, and nothing else
    #[arg(long, conflicts_with_all = ["rows", "top"])]
    pub(super) folded: bool,
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "json")]
    pub(super) top: usize,
}

/// What sampled stacks are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum StackRows {
    /// The calls
    Stack,
    /// The executable or the shared library that has the innermost call
    Object,
    /// The thread that allocated
    Thread,
}

/// A [`Measure`] on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum MeasureArg {
    /// Live at the peak
    Peak,
    /// Live at exit
    Leaks,
    /// Allocated at any time
    Allocated,
    /// More from step to step
    Growth,
}

impl From<MeasureArg> for Measure {
    fn from(typed: MeasureArg) -> Measure {
        match typed {
            MeasureArg::Peak => Measure::Peak,
            MeasureArg::Leaks => Measure::Leaks,
            MeasureArg::Allocated => Measure::Allocated,
            MeasureArg::Growth => Measure::Growth,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct CompareArgs {
    /// Timelines; the others are compared with the first
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub(super) files: Vec<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(super) json: bool,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(super) top: usize,
}

#[derive(Debug, clap::Args)]
pub(super) struct DiffArgs {
    /// The timeline to start from
    pub(super) before: PathBuf,
    /// The timeline to come to
    pub(super) after: PathBuf,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(super) json: bool,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(super) top: usize,
}

#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// Timelines
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// The page to write
    #[arg(short, long, value_name = "HTML", default_value = "report.html")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) pictures: PictureArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// The timeline to check
    pub(super) file: PathBuf,
    /// The timeline to check it against
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: PathBuf,
    /// Allow growth up to this, of everything: 4096, 64KiB, 1% of its own size. Given twice, the wider counts.
    /// Without it, tensors may not grow by one byte, and nothing else is checked
    #[arg(long, value_name = "BYTES|PERCENT")]
    pub(super) max_growth: Vec<Limit>,
    /// Compare even though the runs did not do the same work
    #[arg(long)]
    pub(super) force: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// A timeline
    pub(super) file: PathBuf,
    /// folded: the peak's stacks; csv: the series; massif: for ms_print
    #[arg(long, short)]
    pub(super) format: ExportFormat,
    /// The file to write; standard output without it
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,
    /// For folded: in which order frames lie on each other [default: phase,layer,op]
    #[arg(long, value_name = "ORDER")]
    pub(super) flame_order: Option<FlameOrder>,
}

/// A format of another tool.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ExportFormat {
    Folded,
    Csv,
    Massif,
}

#[derive(Debug, clap::Args)]
pub(super) struct SnapshotArgs {
    /// What torch.cuda.memory._dump_snapshot(FILE) has written
    pub(super) file: PathBuf,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct RecoverArgs {
    /// Recorders' logs, and folders: all logs in a folder
    #[arg(value_name = "LOG|FOLDER", required = true)]
    pub(super) logs: Vec<PathBuf>,
    /// The timeline to write, for one log; without it NAME.timeline.json beside each log, if that is not there yet
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,
}
