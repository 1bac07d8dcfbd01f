//! What a sweep was asked for: flags, or a file of TOML with the same words.
//!
//! ```toml
//! repeat = 3                  # what holds for all points
//!
//! [[grid]]                    # every combination of these
//! models = ["resnet18", "mobilenet_v1"]
//! batch = [1, 4, 16]
//!
//! [[grid]]
//! models = "all"
//! image-size = "small"
//! ```
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;

use crate::cli::{Axes, Common, Count, SweepArgs, nearest, one};

/// Sets of combinations, and what holds for all of them.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) common: Common,
    pub(super) grids: Vec<Axes>,
}

/// A file as it is typed. (serde cannot both flatten a struct and refuse unknown keys, so the fields of [`Common`] are
/// written out.)
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, deserialize_with = "one")]
    repeat: Option<Count<1000>>,
    #[serde(default, deserialize_with = "one")]
    steps: Option<Count<1_000_000_000>>,
    seed: Option<u64>,
    #[serde(default, deserialize_with = "one")]
    classes: Option<Count<1_000_000>>,
    data: Option<PathBuf>,
    grid: Vec<Axes>,
}

impl Asked {
    /// What `args` ask for. What is typed comes before what the file says.
    pub(super) fn of(args: &SweepArgs) -> Result<Asked> {
        let Some(path) = &args.file else {
            return Ok(Asked { common: args.common.clone(), grids: vec![args.axes.clone()] });
        };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot be read; give a file of TOML", path.display()))?;
        let Asked { common, grids } = parse(&text, path)?;
        let typed = args.common.clone();
        let common = Common {
            repeat: typed.repeat.or(common.repeat),
            steps: typed.steps.or(common.steps),
            seed: typed.seed.or(common.seed),
            classes: typed.classes.or(common.classes),
            data: typed.data.or(common.data),
        };
        Ok(Asked { common, grids })
    }
}

/// Reads the text of the file `path`.
///
/// # Errors
/// What is wrong, in which line, and which word may be meant.
fn parse(text: &str, path: &Path) -> Result<Asked> {
    let File { repeat, steps, seed, classes, data, grid } = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or(String::new(), |span| {
            let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
            let shown = text.lines().nth(line - 1).unwrap_or_default().trim();
            format!("line {line}: `{shown}`: ")
        });
        let message = error.message().replace('\n', " ");
        anyhow!("{}: {place}{message}{}", path.display(), suggestion(&message))
    })?;
    anyhow::ensure!(!grid.is_empty(), "{}: there is no [[grid]], so there is nothing to run", path.display());
    Ok(Asked { common: Common { repeat, steps, seed, classes, data }, grids: grid })
}

/// serde names an unknown key and then all that it knows, each between backquotes: the one that may be meant.
fn suggestion(message: &str) -> String {
    if !message.starts_with("unknown field") {
        return String::new();
    }
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let Some((unknown, known)) = words.split_first() else { return String::new() };
    nearest(unknown, known).map_or(String::new(), |word| format!("; did you mean {word}?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Models, Size};
    use crate::model::ModelName;

    fn problem(text: &str) -> String {
        parse(text, Path::new("a.toml")).expect_err("refused").to_string()
    }

    #[test]
    fn values_alone_and_in_lists() {
        let text = "repeat = 2\nseed = 7\n[[grid]]\nmodels = 'all'\nimage-size = ['small', 97]\nthreads = 1\n";
        let Asked { common, grids } = parse(text, Path::new("a.toml")).expect("fine");
        assert_eq!((common.repeat, common.seed, common.steps), (Some(Count(2)), Some(7), None));
        assert_eq!(grids.len(), 1);
        assert_eq!(grids[0].models, [Models::All]);
        assert_eq!(grids[0].image_size, [Size::Small, Size::Number(97)]);
        assert_eq!((grids[0].threads.as_slice(), grids[0].batch.as_slice()), (&[Count(1)][..], &[Count(32)][..]));
        let two = parse("[[grid]]\nmodels = 'lenet5'\n[[grid]]\nmodels = 'resnet18'\n", Path::new("a.toml"));
        assert_eq!(two.expect("fine").grids[1].models, [Models::One(ModelName::ResNet18)]);
    }

    /// Each with the line that it stands in, and with what may be meant.
    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let grid = "[[grid]]\nmodels = 'lenet5'\n";
        for (text, says) in [
            (format!("{grid}bacth = [1]\n"), "a.toml: line 3: `bacth = [1]`: unknown field `bacth`"),
            (format!("{grid}bacth = [1]\n"), "did you mean batch?"),
            (format!("repeats = 3\n{grid}"), "line 1: `repeats = 3`: unknown field `repeats`"),
            (format!("{grid}batch = [4, 0]\n"), "line 3: `batch = [4, 0]`: 0 does nothing; give 1 or more"),
            (format!("{grid}batch = -1\n"), "line 3: `batch = -1`: `-1` is no whole number"),
            (format!("{grid}batch = []\n"), "line 3: `batch = []`: an empty list makes no point"),
            (
                format!("{grid}precision = 'tf32'\n"),
                "line 3: `precision = 'tf32'`: tf32: there is no such precision here",
            ),
            (format!("{grid}allocator = 'jemaloc'\n"), "no such allocator; give one of jemalloc"),
            ("[[grid]]\nmodels = ['lenet5', 'resnet19']\n".to_owned(), "line 2"),
            ("[[grid]]\nmodels = 'resnet19'\n".to_owned(), "did you mean resnet18?"),
            (format!("repeat = 0\n{grid}"), "line 1: `repeat = 0`: 0 does nothing"),
            (format!("{grid}batch = 1.5\n"), "line 3: `batch = 1.5`"),
            (format!("{grid}batch = \n"), "line 3"),
            ("repeat = 3\n".to_owned(), "missing field `grid`"),
            ("grid = []\n".to_owned(), "there is no [[grid]]"),
        ] {
            let problem = problem(&text);
            assert!(problem.contains(says), "{says:?} is missing in {problem:?}");
        }
    }
}
