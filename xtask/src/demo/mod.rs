//! `cargo xtask demo`: from a fresh machine to the first report.
//!
//! ```text
//!  libtorch -> build -> four runs on real images -> pictures -> comparison -> one HTML report, all in target/demo/
//!  --python: torch -> build -> ResNet-18 in Python and in Rust -> pictures -> comparison, all in target/python-demo/
//! ```
mod asked;
mod folder;

mod same;

mod networks;
mod python;

use anyhow::Result;

pub use self::asked::DemoArgs;
use crate::workspace::Workspace;

/// The command.
pub fn run(workspace: &Workspace, args: DemoArgs) -> Result<()> {
    if args.python { python::run(workspace, args) } else { networks::run(workspace, args) }
}
