//! Errors that say what is wrong, where, and what to do next.

use std::fmt;

use anyhow::Error;

/// Something the user can put right, with the way to do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserError {
    /// What is wrong and where, one fact a line.
    pub what: String,
    /// What to do about it.
    pub next: String,
}

impl UserError {
    /// `what` is wrong; `next` puts it right.
    pub fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into() }
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for UserError {}

/// The whole message for the terminal: the chain of causes, outermost first, and the next step last.
pub fn full_message(error: &Error) -> String {
    let mut text = format!("error: {error}");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("\n  because: {cause}"));
    }
    if let Some(user_error) = error.chain().find_map(|cause| cause.downcast_ref::<UserError>()) {
        text.push_str(&format!("\n  next step: {}", user_error.next));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_comes_last_even_under_context() {
        let error = Error::new(UserError::new("the shelf is empty", "fill the shelf")).context("cannot serve tea");
        assert_eq!(
            full_message(&error),
            "error: cannot serve tea\n  because: the shelf is empty\n  next step: fill the shelf"
        );
    }

    #[test]
    fn an_error_without_a_next_step_is_told_plainly() {
        assert_eq!(full_message(&anyhow::anyhow!("odd")), "error: odd");
    }
}
