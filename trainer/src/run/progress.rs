//! The progress of a run: a bar where stderr is a terminal, and a line for each step. When stdout carries data for a
//! program, the lines go to stderr.
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console;

/// Tells the user how far the run is.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    /// Whether stdout carries data for a program, so that all lines go to stderr.
    quiet_stdout: bool,
}

impl Progress {
    /// For `length` steps; the bar only shows on a terminal.
    pub(crate) fn new(length: u64, quiet_stdout: bool) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {elapsed} + {eta}");
            let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            // The first step is the slowest, so the bar appears before it.
            bar.tick();
            bar
        });
        Progress { bar, quiet_stdout }
    }

    /// Without a bar.
    pub(crate) fn lines(quiet_stdout: bool) -> Progress {
        Progress { bar: None, quiet_stdout }
    }

    /// Prints a line, above the bar if there is one.
    pub(crate) fn line(&self, text: &str) {
        let print = || if self.quiet_stdout { console::print_error_line(text) } else { console::print_line(text) };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Prints a line about a step that is done, and advances the bar.
    pub(crate) fn step(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        self.line(text);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
