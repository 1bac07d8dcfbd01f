//! Networks as they are typed: one by its name, or `all` of them.
use std::str::FromStr;

use clap::ValueEnum;

use super::typed;
use crate::model::ModelName;

/// One network, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Models {
    /// Every network that the trainer knows.
    All,
    /// This one.
    One(ModelName),
}

impl FromStr for Models {
    type Err = String;

    fn from_str(text: &str) -> Result<Models, String> {
        if text == "all" { Ok(Models::All) } else { typed::named(text).map(Models::One) }
    }
}

impl Models {
    /// All that were typed, each once, in the order in which they were.
    pub fn listed(typed: &[Models]) -> Vec<ModelName> {
        let mut listed: Vec<ModelName> = Vec::new();
        for models in typed {
            let named = match models {
                Models::All => ModelName::value_variants(),
                Models::One(model) => std::slice::from_ref(model),
            };
            for &model in named {
                if !listed.contains(&model) {
                    listed.push(model);
                }
            }
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_listed_once() {
        let typed = ["resnet34", "all", "lenet5"].map(|text| text.parse().expect("known"));
        let listed = Models::listed(&typed);
        assert_eq!((listed[0], listed.len()), (ModelName::ResNet34, ModelName::value_variants().len()));
        assert!("resnet35".parse::<Models>().is_err());
    }
}
