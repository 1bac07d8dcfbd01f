//! A schedule as text: a line for each run forward or backward, a column for each stage.
//!
//! ```text
//!            1 2 3 4 5
//! forward    c . . s s     c: keeps what it reads, .: keeps nothing, s: saves all
//! backward         < <
//! forward    c s s
//! backward   < < <
//! ```
use crate::schedule::{Keep, Operation, Schedule};

/// Draws a schedule over so many stages. What is dropped is not drawn.
pub fn draw(stages: usize, schedule: &Schedule) -> String {
    let width = stages.to_string().len() + 1;
    let numbers: String = (1..=stages).map(|number| format!("{number:>width$}")).collect();
    let mut lines = vec![format!("{:<9}{numbers}", "")];
    let mut run: Option<(&str, Vec<char>, usize)> = None;
    for &operation in &schedule.0 {
        let (direction, letter) = match operation {
            Operation::Forward { keep: Keep::Nothing, .. } => ("forward", '.'),
            Operation::Forward { keep: Keep::Input, .. } => ("forward", 'c'),
            Operation::Forward { keep: Keep::All, .. } => ("forward", 's'),
            Operation::Backward { .. } => ("backward", '<'),
            Operation::Drop { .. } => continue,
        };
        let stage = operation.stage();
        let goes_on = run.as_ref().is_some_and(|&(running, _, last)| {
            running == direction && if direction == "forward" { stage == last + 1 } else { stage + 1 == last }
        });
        if !goes_on {
            lines.extend(run.take().map(|(direction, letters, _)| line(direction, &letters, width)));
        }
        let (_, letters, last) = run.get_or_insert_with(|| (direction, vec![' '; stages], stage));
        (letters[stage], *last) = (letter, stage);
    }
    lines.extend(run.map(|(direction, letters, _)| line(direction, &letters, width)));
    lines.join("\n")
}

fn line(direction: &str, letters: &[char], width: usize) -> String {
    let letters: String = letters.iter().map(|letter| format!("{letter:>width$}")).collect();
    format!("{direction:<9}{letters}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::sequential;

    #[test]
    fn two_segments() {
        let expected = "          1 2 3 4 5 6\n\
                        forward   c . s s s s\n\
                        backward      < < < <\n\
                        forward   s s\n\
                        backward  < <";
        assert_eq!(draw(6, &sequential(6, 2).expect("enough stages")), expected);
    }
}
