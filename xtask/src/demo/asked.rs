//! What can be typed behind `cargo xtask demo`.

use clap::Args;

/// What `cargo xtask demo` is asked to do.
#[derive(Args, Clone, Copy, Debug)]
pub struct DemoArgs {
    /// Steps of each run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
    /// Images a step
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
    /// Fetch nothing: use the libtorch that is on this machine
    #[arg(long)]
    pub offline: bool,
    /// torchvision's ResNet-18 in Python beside the trainer's instead. Asks before it fetches torch (3 GB)
    #[arg(long)]
    pub python: bool,
    /// Do not ask
    #[arg(long, requires = "python")]
    pub yes: bool,
}
