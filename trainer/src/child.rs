//! One run of a network in a process of its own: a heap, a resident set and a peak cannot be reset.
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::allocator::{ENVIRONMENT, Spec};
use crate::cli::{InputArgs, WorkArgs};
use crate::model::ModelName;
use crate::optimizer::Optimizer;
use crate::settings::Mode;
use crate::{exit_code, interrupt};

/// What a run in a process of its own does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) model: ModelName,
    pub(crate) mode: Mode,
    pub(crate) work: &'a WorkArgs,
    pub(crate) batch: u64,
    pub(crate) threads: u64,
    pub(crate) data: &'a Path,
    /// Used where the mode is training.
    pub(crate) optimizer: Optimizer,
}

impl Job<'_> {
    /// The arguments that make a binary of this package do it.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let Job { work, .. } = self;
        let mut arguments: Vec<OsString> =
            vec![self.mode.as_str().into(), "--model".into(), self.model.as_str().into()];
        let numbers = [
            ("--batch", self.batch),
            ("--steps", work.steps),
            (InputArgs::size_flag(self.model), work.input.size(self.model)),
            ("--threads", self.threads),
            ("--seed", work.seed),
            ("--classes", work.input.classes(self.model)),
        ];
        for (flag, number) in numbers {
            arguments.extend([flag.into(), number.to_string().into()]);
        }
        arguments.extend(["--data".into(), self.data.into(), "--device".into(), work.device.to_string().into()]);
        if self.mode == Mode::Train {
            let optimizer = self.optimizer;
            arguments.extend(["--optimizer".into(), optimizer.name.as_str().into()]);
            arguments.extend(["--lr".into(), optimizer.lr().to_string().into()]);
            if let Some(momentum) = optimizer.momentum() {
                arguments.extend(["--momentum".into(), momentum.to_string().into()]);
            }
        }
        arguments
    }
}

/// What `--json-times` prints.
#[derive(Debug, Deserialize)]
pub(crate) struct Times {
    pub(crate) step_ns: Vec<u64>,
    pub(crate) peak_rss_bytes: Option<u64>,
}

/// How a run ended whose output was read.
pub(crate) enum Ended {
    /// With all of its stdout.
    Done(String),
    /// The user asked for the end.
    Interrupted,
    /// With its stderr.
    Failed { status: ExitStatus, said: String },
}

/// The command of `job` over the allocator `spec`: only what `spec` says stands in its environment about allocators.
pub(crate) fn over(program: &Path, spec: &Spec, job: &Job<'_>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if ENVIRONMENT.iter().any(|begin| name.to_string_lossy().starts_with(begin)) {
            command.env_remove(name);
        }
    }
    command.envs(spec.environment()).args(job.arguments());
    command
}

/// The command of `job` over `spec` without the tracker, which prints its [`Times`].
pub(crate) fn untracked_over(program: &Path, spec: &Spec, job: &Job<'_>) -> Command {
    let mut command = over(program, spec, job);
    command.args(["--track", "off", "--json-times"]).env("ALLOC_TRACKER", "off");
    command
}

/// Runs `command` to its end, unless the user has asked for the end before or asks meanwhile.
pub(crate) fn ended(command: &mut Command) -> Result<Ended> {
    if interrupt::requested() {
        return Ok(Ended::Interrupted);
    }
    let output = output(command)?;
    Ok(match output.status.code() {
        Some(0) => Ended::Done(String::from_utf8_lossy(&output.stdout).into_owned()),
        Some(code) if code == i32::from(exit_code::INTERRUPTED) => Ended::Interrupted,
        _ if interrupt::requested() => Ended::Interrupted,
        _ => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Ended::Failed { status: output.status, said }
        }
    })
}

/// Has the kernel kill the command when this program is killed: nobody would read what it says.
fn ends_with_this_program(command: &mut Command) {
    let mark = || {
        // SAFETY: the arguments are numbers.
        match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(mark) };
}

/// Runs `command` to its end. Its process group is its own, so that Ctrl-C reaches it once, through this process.
pub(crate) fn wait(command: &mut Command) -> Result<ExitStatus> {
    let mut child = command
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("{}: cannot be started", command.get_program().display()))?;
    interrupt::set_child(child.id() as i32);
    let status = child.wait();
    interrupt::set_child(0);
    status.context("a run was lost")
}

/// The same, with all that it prints. It does not outlive this program.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    ends_with_this_program(command);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("{}: cannot be started", command.get_program().display()))?;
    interrupt::set_child(child.id() as i32);
    let output = child.wait_with_output();
    interrupt::set_child(0);
    output.context("a run was lost")
}

/// The same, but each line of stderr is also given to `line` as it comes.
pub(crate) fn output_with(command: &mut Command, mut line: impl FnMut(&str)) -> Result<Output> {
    ends_with_this_program(command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("{}: cannot be started", command.get_program().display()))?;
    interrupt::set_child(child.id() as i32);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    // Both have to be read at once: a child whose one pipe is full writes nothing to the other.
    let reader = std::thread::spawn(move || {
        let mut content = Vec::new();
        stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut content)).map(|_| content)
    });
    let mut said = Vec::new();
    for text in stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).split(b'\n')) {
        let text = text.context("what a run says cannot be read")?;
        line(&String::from_utf8_lossy(&text));
        said.extend(text);
        said.push(b'\n');
    }
    let stdout = reader.join().ok().and_then(|read| read.ok()).context("what a run prints cannot be read")?;
    let status = child.wait();
    interrupt::set_child(0);
    Ok(Output { status: status.context("a run was lost")?, stdout, stderr: said })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Task};
    use crate::device::DeviceName;
    use crate::optimizer::OptimizerName;
    use clap::Parser;

    /// What is typed for a child is understood as the settings that it was made of.
    #[test]
    fn arguments_mean_what_the_job_says() {
        let Task::Compare(args) =
            Cli::parse_from(["trainer", "compare", "--image-size", "33", "--seed", "7", "--device", "cuda:1"]).task
        else {
            panic!("compare is the Compare task")
        };
        let optimizer = Optimizer { name: OptimizerName::Sgd, lr: Some(0.5), momentum: Some(0.25), beta1: None };
        let job = Job {
            model: ModelName::ResNet18,
            mode: Mode::Train,
            work: &args.work,
            batch: 3,
            threads: 2,
            data: Path::new("some/where"),
            optimizer,
        };
        let typed = Cli::parse_from([OsString::from("trainer")].into_iter().chain(job.arguments()));
        let Task::Train(train) = typed.task else { panic!("train is the Train task") };
        let work = &train.run.work;
        assert_eq!((work.batch, work.input.size(job.model), work.seed, work.threads), (3, 33, 7, Some(2)));
        assert_eq!(work.device, DeviceName::Cuda(1));
        assert_eq!((train.optimizer.of(ModelName::ResNet18), train.run.model), (optimizer, ModelName::ResNet18));
        assert_eq!(work.data.as_deref(), Some(Path::new("some/where")));
    }
}
