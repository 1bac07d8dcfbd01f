//! A bar where somebody watches, plain lines where nobody does, and nothing on a stdout that carries JSON.
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::say;

/// Tells the user how far the run is.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    /// stdout is for a machine: all lines go to stderr.
    quiet_stdout: bool,
}

impl Progress {
    /// For `length` steps; the bar only shows on a terminal.
    pub(crate) fn new(length: u64, quiet_stdout: bool) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {elapsed} + {eta}");
            let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            // The first step is the slowest; the bar is there from its beginning.
            bar.tick();
            bar
        });
        Progress { bar, quiet_stdout }
    }

    /// Lines only.
    pub(crate) fn lines(quiet_stdout: bool) -> Progress {
        Progress { bar: None, quiet_stdout }
    }

    /// One line, above the bar if there is one.
    pub(crate) fn line(&self, text: &str) {
        let print = || if self.quiet_stdout { say::err(text) } else { say::out(text) };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// One line about a step that is done.
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
