//! Several runs side by side, each in a process of its own: models and modes, or allocators.
mod request;
mod rows;

mod allocators;
mod models;

use std::process::ExitCode;

use anyhow::Result;

use self::request::Request;
use crate::cli::CompareArgs;
use crate::{check, interrupt};

/// Does the runs that `args` asks for, and prints them side by side on stdout.
pub fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let folder = |&model| check::data_folder(model, args.work.data.as_deref());
    let data = args.models.iter().map(folder).collect::<Result<Vec<_>>>()?;
    let request = Request::check(args, &data)?;
    interrupt::listen()?;
    if args.allocator.is_empty() { models::compare(args, &request) } else { allocators::compare(args, &request) }
}
