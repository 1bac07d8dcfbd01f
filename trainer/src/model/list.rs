//! `trainer models`: the networks with their sizes, in a table or as JSON.
use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;

use super::name::ModelName;
use super::plan::saved_an_input;
use crate::figures::table;

/// One network, for inputs of the size that its reference is for.
#[derive(Debug, Serialize)]
struct Entry {
    model: &'static str,
    parameters: u64,
    /// `[channels, side, side]` of images, `[length]` of texts.
    input: Vec<u64>,
    classes: u64,
    /// What each further image or text leaves for the backward pass, in fp32.
    saved_bytes_an_image: u64,
    paper: &'static str,
}

impl Entry {
    fn of(model: ModelName) -> Result<Entry> {
        let input = model.input();
        let classes = model.reference_classes();
        let stages = model.stages(classes);
        Ok(Entry {
            model: model.as_str(),
            parameters: stages.iter().map(|stage| stage.op.parameters()).sum(),
            input: input.dimensions(),
            classes,
            saved_bytes_an_image: saved_an_input(&stages, input)?,
            paper: model.paper(),
        })
    }
}

/// The text of `trainer models`.
pub fn models(as_json: bool) -> Result<String> {
    let mut models = ModelName::value_variants().to_vec();
    models.sort_by_key(|model| model.as_str());
    let entries = models.into_iter().map(Entry::of).collect::<Result<Vec<Entry>>>()?;
    if as_json {
        return Ok(serde_json::to_string(&entries)?);
    }
    let rows = entries.iter().map(|entry| {
        let input: Vec<String> = entry.input.iter().map(u64::to_string).collect();
        vec![
            entry.model.to_owned(),
            entry.parameters.to_string(),
            input.join("x"),
            format!("{:.3}", entry.saved_bytes_an_image as f64 / f64::from(1 << 20)),
            entry.paper.to_owned(),
        ]
    });
    let titles = ["model", ">parameters", "input", ">MiB a sample", "paper"];
    let table = table(&titles, rows);
    Ok(format!(
        "{table}\ninput: channels and sides of an image, or tokens of a text\nMiB a sample: what each further one leaves for \
         the backward pass, in fp32"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_is_listed_once() {
        let listed: serde_json::Value = serde_json::from_str(&models(true).expect("all fit")).expect("JSON");
        let entries = listed.as_array().expect("an array");
        assert_eq!(entries.len(), ModelName::value_variants().len());
        let resnet = entries.iter().find(|entry| entry["model"] == "resnet18").expect("listed");
        assert_eq!((&resnet["parameters"], &resnet["saved_bytes_an_image"]), (&11_689_512.into(), &21_581_728.into()));
        let table = models(false).expect("all fit");
        assert!(table.lines().any(|line| line.starts_with("densenet_bc100_12")), "{table}");
    }
}
