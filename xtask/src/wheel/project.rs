//! What a wheel says of itself (PEP 427), from `pyproject.toml`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toml::Table;

/// The table `project` of a `pyproject.toml`.
#[derive(Debug)]
pub struct Project(Table);

impl Project {
    /// Reads that of the package in `folder`.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("pyproject.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("cannot use {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut whole: Table = text.parse()?;
        match whole.remove("project") {
            Some(toml::Value::Table(project)) => Ok(Self(project)),
            _ => anyhow::bail!("it has no table [project]"),
        }
    }

    fn text(&self, key: &str) -> Result<&str> {
        self.0.get(key).and_then(|value| value.as_str()).with_context(|| format!("[project] has no text {key}"))
    }

    /// Name and version as they stand in the names of files: `alloc_tracker-0.1.0`.
    pub fn stem(&self) -> Result<String> {
        Ok(format!("{}-{}", self.text("name")?.replace('-', "_"), self.text("version")?))
    }

    /// The file `METADATA`. `licenses` are names of files beside it.
    pub fn metadata(&self, licenses: &[&str]) -> Result<String> {
        let mut lines = vec!["Metadata-Version: 2.4".to_owned()];
        for (field, key) in [
            ("Name", "name"),
            ("Version", "version"),
            ("Summary", "description"),
            ("License-Expression", "license"),
            ("Requires-Python", "requires-python"),
        ] {
            lines.push(format!("{field}: {}", self.text(key)?));
        }
        let classifiers = self.0.get("classifiers").and_then(|value| value.as_array());
        let classifiers = classifiers.into_iter().flatten().filter_map(|value| value.as_str());
        lines.extend(classifiers.map(|classifier| format!("Classifier: {classifier}")));
        lines.extend(licenses.iter().map(|license| format!("License-File: {license}")));
        Ok(lines.join("\n") + "\n")
    }
}

/// The file `WHEEL`.
pub fn wheel(tag: &str) -> String {
    let generator = concat!("alloc-tracker ", env!("CARGO_PKG_VERSION"));
    format!("Wheel-Version: 1.0\nGenerator: {generator}\nRoot-Is-Purelib: false\nTag: {tag}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_is_what_the_project_says() {
        let text = "[project]\nname = \"a-b\"\nversion = \"1.2\"\ndescription = \"Does it.\"\nrequires-python = \">=3.8\"\n\
                    license = \"MIT\"\nclassifiers = [\"Typing :: Typed\"]\n";
        let project = Project::parse(text).unwrap();
        assert_eq!(project.stem().unwrap(), "a_b-1.2");
        assert_eq!(
            project.metadata(&["LICENSE"]).unwrap(),
            "Metadata-Version: 2.4\nName: a-b\nVersion: 1.2\nSummary: Does it.\nLicense-Expression: MIT\n\
             Requires-Python: >=3.8\nClassifier: Typing :: Typed\nLicense-File: LICENSE\n"
        );
        assert!(Project::parse("[tool]\n").is_err());
        assert!(Project::parse("[project]\nname = 'a'\n").unwrap().stem().is_err());
    }
}
