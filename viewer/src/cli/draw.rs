//! `viewer FILE...`: the two pictures of each file, and the text chart with the table of owners.
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cli::args::DrawArgs;
use crate::cli::{Outcome, output};
use crate::load::{beside, load_all};
use crate::view::{chart, flame, growing_lines, stacks_flame, timeline_svg, top_table};

pub(super) fn run(args: &DrawArgs) -> Result<Outcome> {
    let runs = load_all(&args.files)?;
    let pictures = |path: &Path| {
        ["timeline.svg", "flame.svg", "stacks.svg"].map(|suffix| beside(path, args.out.as_deref(), suffix))
    };
    // Two inputs of one name into one folder would leave only the second's pictures.
    let mut planned: Vec<(PathBuf, &Path)> = Vec::new();
    for run in &runs {
        for picture in pictures(&run.path) {
            if let Some((_, other)) = planned.iter().find(|(path, _)| *path == picture) {
                let (other, this) = (other.display(), run.path.display());
                bail!(
                    "{}: both {other} and {this} would be drawn there; draw them into different folders",
                    picture.display()
                );
            }
            planned.push((picture, &run.path));
        }
    }
    if let Some(folder) = &args.out {
        output::folder(folder)?;
    }
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let dimension = args.look.by.into();
    let mut text = String::new();
    for run in &runs {
        let [timeline_path, flame_path, stacks_path] = pictures(&run.path);
        output::write(&timeline_path, &timeline_svg(run, dimension), &inputs)?;
        output::write(&flame_path, &flame(run, args.look.flame_order)?, &inputs)?;
        text.push_str(&chart(run, dimension, output::terminal()));
        text.push('\n');
        text.push_str(&top_table(run, args.top, output::terminal()));
        text.push_str(&growing_lines(run));
        text.push_str(&format!("wrote {}\nwrote {}\n", timeline_path.display(), flame_path.display()));
        if let Some(picture) = stacks_flame(run)? {
            output::write(&stacks_path, &picture, &inputs)?;
            text.push_str(&format!("wrote {}\n", stacks_path.display()));
        }
        text.push('\n');
    }
    text.pop();
    Ok(Outcome::Fine(text))
}
