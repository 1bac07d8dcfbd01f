//! `viewer FILE...`: the pictures of each file, and its chart and its table of owners as text.
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cli::args::DrawArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load_all;
use crate::model::Run;
use crate::view::{
    Colours, chart, cost_svg, fitted, flamegraph, growth_paragraph, lanes_svg, rss_svg, stacks_flamegraph,
    timeline_svg, top_table,
};

/// The paths of the pictures of one run. The third picture is drawn only where there are stacks, the fourth only where the
/// samples have coarse books, the fifth only where they say how busy the machine was, the
/// sixth only where times were measured.
struct Pictures {
    timeline: PathBuf,
    flame: PathBuf,
    stacks: PathBuf,
    rss: PathBuf,
    lanes: PathBuf,
    cost: PathBuf,
}

impl Pictures {
    fn new(run: &Run, folder: Option<&Path>) -> Pictures {
        let path = |suffix: &str| output::beside(&run.path, folder, suffix);
        Pictures {
            timeline: path("timeline.svg"),
            flame: path("flame.svg"),
            stacks: path("stacks.svg"),
            rss: path("rss.svg"),
            lanes: path("lanes.svg"),
            cost: path("cost.svg"),
        }
    }
}

pub(super) fn run(args: &DrawArgs) -> Result<Outcome> {
    let runs = load_all(&args.files)?;
    refuse_to_overwrite(&runs, args.out.as_deref())?;
    if let Some(folder) = &args.out {
        output::create_folder(folder)?;
    }
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let texts: Vec<String> = runs.iter().map(|run| draw(run, args, &inputs)).collect::<Result<_>>()?;
    Ok(Outcome::Fine(texts.join("\n")))
}

/// Two runs of one name would be drawn into the same files of one folder, and only the second would remain.
fn refuse_to_overwrite(runs: &[Run], folder: Option<&Path>) -> Result<()> {
    let mut planned: Vec<(PathBuf, &Path)> = Vec::new();
    for run in runs {
        let pictures = Pictures::new(run, folder);
        let Pictures { timeline, flame, stacks, rss, lanes, cost } = pictures;
        for picture in [timeline, flame, stacks, rss, lanes, cost] {
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
    Ok(())
}

/// Writes the pictures of one run and returns its text.
fn draw(run: &Run, args: &DrawArgs, inputs: &[&Path]) -> Result<String> {
    let pictures = Pictures::new(run, args.out.as_deref());
    let dimension = args.pictures.dimension.into();
    let colours = Colours::of([&run.timeline]);
    output::write(&pictures.timeline, &timeline_svg(run, dimension, &colours), inputs)?;
    output::write(&pictures.flame, &flamegraph(run, args.pictures.flame_order, &colours)?, inputs)?;
    let terminal = output::terminal();
    let mut text = chart(run, dimension, terminal);
    text.push('\n');
    text.push_str(&top_table(run, args.top, terminal));
    text.push_str(&fitted(&growth_paragraph(run), terminal.width));
    let mut written = vec![&pictures.timeline, &pictures.flame];
    if let Some(picture) = stacks_flamegraph(run)? {
        output::write(&pictures.stacks, &picture, inputs)?;
        written.push(&pictures.stacks);
    }
    if let Some(picture) = rss_svg(run, dimension, &colours) {
        output::write(&pictures.rss, &picture, inputs)?;
        written.push(&pictures.rss);
    }
    if let Some(picture) = lanes_svg(run) {
        output::write(&pictures.lanes, &picture, inputs)?;
        written.push(&pictures.lanes);
    }
    if let Some(picture) = cost_svg(run) {
        output::write(&pictures.cost, &picture, inputs)?;
        written.push(&pictures.cost);
    }
    written.into_iter().for_each(|path| text.push_str(&format!("wrote {}\n", path.display())));
    Ok(text)
}
