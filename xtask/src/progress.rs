//! One step of work at a time: a bar on a terminal, plain lines elsewhere. All of it goes to stderr.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a plain log hears that a long step is still alive.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// A step that takes seconds. Say `done` when it is; a step that is dropped before leaves no bar behind.
pub struct Step {
    name: String,
    started: Instant,
    said: Cell<Instant>,
    plain: bool,
    bar: ProgressBar,
}

impl Step {
    /// A step with a known number of bytes.
    pub fn bytes(name: impl Into<String>, total: u64) -> Self {
        let style = "{prefix} {bar:30} {bytes} of {total_bytes} ({bytes_per_sec}, {eta} left) {wide_msg}";
        Self::start(name.into(), ProgressBar::new(total), style)
    }

    /// A step whose length nobody knows: elapsed time and the latest word from the work.
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
        Self { name, started: now, said: Cell::new(now), plain, bar }
    }

    /// How far it is.
    pub fn at(&self, position: u64) {
        self.bar.set_position(position);
        if let Some(total) = self.bar.length() {
            self.speak(|| format!("{} %", position * 100 / total.max(1)));
        }
    }

    /// One more part or so many more bytes are through.
    pub fn add(&self, count: u64) {
        self.at(self.bar.position() + count);
    }

    /// The latest word from the work.
    pub fn note(&self, message: &str) {
        self.bar.set_message(message.to_owned());
        self.speak(|| message.to_owned());
    }

    fn speak(&self, message: impl FnOnce() -> String) {
        if self.plain && self.said.get().elapsed() >= PLAIN_EVERY {
            self.said.set(Instant::now());
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

impl Drop for Step {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
