//! Counts tests from what the test programs print.
//!
//! ```text
//!  running 2 tests                     a program announces itself
//!  test ring::wraps ... ok
//!  successes:                          what passing tests printed: not repeated, but for SKIPPED lines
//!  failures:                           what failing tests printed: repeated, and once more at the end of all
//!  test result: ok. 2 passed; ...      a program sums up; one that dies never gets here
//! ```

use std::collections::BTreeSet;

/// Whether a line of the test programs is shown to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// It is shown.
    Show,
    /// It is left out.
    Hide,
}

/// The counts so far.
#[derive(Debug, Default)]
pub struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    failures: Vec<String>,
    skipped: BTreeSet<String>,
    /// What failing tests printed, by line.
    reasons: Vec<String>,
    /// The program that is running: the tests that it announced, and those that have passed.
    running: Option<(u64, u64)>,
    inside: Part,
}

/// The part of a program's output in which a line stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A line for each test.
    #[default]
    Tests,
    /// What passing tests printed.
    Successes,
    /// What failing tests printed, and their names after that.
    Failures,
}

/// What was counted, as it is told to the user.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Skipped tests, each on a line; what failing tests printed; failed tests, each on a line.
    pub details: Vec<String>,
    /// `N passed, M failed`, and `, K skipped` when there are any.
    pub line: String,
    /// Whether all is green.
    pub good: bool,
}

impl Tally {
    /// Takes the next line of the test programs' output.
    pub fn read_line(&mut self, line: &str) -> Echo {
        if let Some(skipped) = line.trim_start().strip_prefix("SKIPPED:") {
            self.skipped.insert(format!("SKIPPED:{skipped}"));
            return Echo::Hide;
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.take_result(counts);
        } else if let Some(announced) = line.strip_prefix("running ").and_then(announced) {
            self.end_program();
            self.running = Some((announced, 0));
        } else if line == "successes:" {
            self.inside = Part::Successes;
        } else if line == "failures:" {
            self.inside = Part::Failures;
        } else {
            match self.inside {
                Part::Tests => self.take_test(line),
                Part::Failures => self.reasons.push(line.to_owned()),
                Part::Successes => {}
            }
        }
        if self.inside == Part::Successes { Echo::Hide } else { Echo::Show }
    }

    fn take_result(&mut self, counts: &str) {
        self.inside = Part::Tests;
        self.running = None;
        self.passed += count(counts, "passed");
        self.failed += count(counts, "failed");
        self.ignored += count(counts, "ignored");
    }

    fn take_test(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test ") else { return };
        if rest.ends_with("... ok") {
            if let Some((_, passed)) = &mut self.running {
                *passed += 1;
            }
        } else if let Some(name) = rest.strip_suffix(" ... FAILED") {
            self.failures.push(name.to_owned());
        }
    }

    /// A program that announced tests and never summed up has died. Its tests that have not passed count as failed.
    fn end_program(&mut self) {
        self.inside = Part::Tests;
        if let Some((announced, passed)) = self.running.take() {
            let lost = announced.saturating_sub(passed).max(1);
            self.passed += passed;
            self.failed += lost;
            self.failures.push(format!("a test program ended before its time; tests without an answer: {lost}"));
        }
    }

    /// Ends the counting; `all_succeeded` says whether cargo itself ended well.
    pub fn verdict(mut self, all_succeeded: bool) -> Verdict {
        self.end_program();
        if !all_succeeded && self.failed == 0 {
            self.failed = 1;
            self.failures.push("cargo test failed without a failed test: see its message above".to_owned());
        }
        let failures = self.failures.iter().map(|name| format!("FAILED: {name}"));
        let details = self.skipped.iter().chain(&self.reasons).cloned().chain(failures).collect();
        let mut line = format!("{} passed, {} failed", self.passed, self.failed);
        if self.ignored > 0 {
            line.push_str(&format!(", {} skipped", self.ignored));
        }
        Verdict { details, line, good: self.failed == 0 }
    }
}

/// `12 tests` or `1 test`
fn announced(rest: &str) -> Option<u64> {
    let (number, noun) = rest.split_once(' ')?;
    noun.starts_with("test").then(|| number.parse().ok())?
}

/// The number before `word` in `ok. 5 passed; 0 failed; 1 ignored; ...`
fn count(counts: &str, word: &str) -> u64 {
    let parts = counts.split([';', '.']).map(str::trim);
    parts.filter_map(|part| part.strip_suffix(word)?.trim().parse::<u64>().ok()).next().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_of(output: &str, all_succeeded: bool) -> Verdict {
        let mut tally = Tally::default();
        output.lines().for_each(|line| {
            tally.read_line(line);
        });
        tally.verdict(all_succeeded)
    }

    #[test]
    fn the_results_of_all_programs_are_summed() {
        let output = "running 2 tests\ntest a ... ok\ntest b ... ok\n\
                      test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      running 3 tests\ntest c ... ok\ntest d ... FAILED\ntest e ... ignored\n\
                      test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";
        let expected =
            Verdict { details: vec!["FAILED: d".into()], line: "3 passed, 1 failed, 1 skipped".into(), good: false };
        assert_eq!(verdict_of(output, false), expected);
    }

    #[test]
    fn a_green_run_says_so_without_more() {
        let output = "running 1 test\ntest a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n";
        assert_eq!(
            verdict_of(output, true),
            Verdict { details: vec![], line: "1 passed, 0 failed".into(), good: true }
        );
    }

    #[test]
    fn a_program_that_dies_counts_its_unanswered_tests_as_failed() {
        let output =
            "running 4 tests\ntest a ... ok\nrunning 1 test\ntest b ... ok\ntest result: ok. 1 passed; 0 failed;\n";
        let verdict = verdict_of(output, false);
        assert_eq!(verdict.line, "2 passed, 3 failed");
        assert_eq!(verdict.details, ["FAILED: a test program ended before its time; tests without an answer: 3"]);
    }

    #[test]
    fn a_failure_that_no_test_explains_is_still_red() {
        let verdict = verdict_of("", false);
        assert_eq!((verdict.line.as_str(), verdict.good), ("0 passed, 1 failed", false));
    }

    #[test]
    fn what_passing_tests_print_is_silent_but_for_what_they_skip() {
        let mut tally = Tally::default();
        for (line, echo) in [
            ("running 2 tests", Echo::Show),
            ("test a ... ok", Echo::Show),
            ("successes:", Echo::Hide),
            ("---- a stdout ----", Echo::Hide),
            ("SKIPPED: cgroup: not writable", Echo::Hide),
            ("test x ... ok", Echo::Hide),
            ("failures:", Echo::Show),
            ("why it failed", Echo::Show),
            ("test result: FAILED. 1 passed; 1 failed; 0 ignored", Echo::Show),
            ("a line of no test", Echo::Show),
        ] {
            assert_eq!(tally.read_line(line), echo, "{line}");
        }
        assert_eq!(tally.verdict(false).details, ["SKIPPED: cgroup: not writable", "why it failed"]);
    }
}
