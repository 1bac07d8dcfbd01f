//! One step of work at a time: a bar on a terminal, plain lines elsewhere. All of it goes to stderr.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a long step prints a line where stderr is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Shows a step of work that takes seconds. Call `done` at its end; one that is dropped earlier leaves no bar behind.
pub struct Progress {
    name: String,
    started: Instant,
    /// When the last plain line was printed.
    last_line: Cell<Instant>,
    plain: bool,
    bar: ProgressBar,
}

impl Progress {
    /// A step with a known number of bytes.
    pub fn bytes(name: impl Into<String>, total: u64) -> Self {
        let style = "{prefix} {bar:30} {bytes} of {total_bytes} ({bytes_per_sec}, {eta} left) {wide_msg}";
        Self::start(name.into(), ProgressBar::new(total), style)
    }

    /// A step of unknown length: shows the elapsed time and the latest message of the work.
    pub fn open(name: impl Into<String>) -> Self {
        Self::start(name.into(), ProgressBar::new_spinner(), "{spinner} {prefix} {elapsed} {wide_msg}")
    }

    /// A step with a known number of parts.
    pub fn parts(name: impl Into<String>, total: u64) -> Self {
        Self::start(name.into(), ProgressBar::new(total), "{prefix} {bar:30} {pos} of {len} {elapsed} {wide_msg}")
    }

    fn start(name: String, bar: ProgressBar, style: &str) -> Self {
        let plain = !std::io::stderr().is_terminal();
        if plain {
            bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
            eprintln!("{name} ...");
        } else {
            bar.set_style(ProgressStyle::with_template(style).expect("the templates above are valid"));
            bar.set_prefix(name.clone());
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        let now = Instant::now();
        Self { name, started: now, last_line: Cell::new(now), plain, bar }
    }

    /// Sets how many bytes or parts are done.
    pub fn at(&self, position: u64) {
        self.bar.set_position(position);
        if let Some(total) = self.bar.length() {
            self.print_plain(|| match position.saturating_sub(total) {
                0 => format!("{} %", position * 100 / total.max(1)),
                // Rounds were added.
                more => format!("all of {total}, and {more} more"),
            });
        }
    }

    /// Adds to the bytes or parts that are done.
    pub fn add(&self, count: u64) {
        self.at(self.bar.position() + count);
    }

    /// Shows the latest message of the work.
    pub fn note(&self, message: &str) {
        self.bar.set_message(message.to_owned());
        self.print_plain(|| message.to_owned());
    }

    /// Prints a line where stderr is no terminal, unless one was printed a short time ago.
    fn print_plain(&self, message: impl FnOnce() -> String) {
        if self.plain && self.last_line.get().elapsed() >= PLAIN_INTERVAL {
            self.last_line.set(Instant::now());
            eprintln!("{} ... {} ({:.0} s)", self.name, message(), self.started.elapsed().as_secs_f64());
        }
    }

    /// Ends the step with a line that stays.
    pub fn done(self, message: &str) {
        self.bar.finish_and_clear();
        let seconds = self.started.elapsed().as_secs_f64();
        let comma = if message.is_empty() { "" } else { ", " };
        eprintln!("{}: done in {seconds:.1} s{comma}{message}", self.name);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
