//! The files that a virtual machine has left.
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

const MIB: i64 = 1 << 20;

/// Their texts, by name.
#[derive(Debug, Default)]
pub struct Left(BTreeMap<String, String>);

impl Left {
    /// Reads the files in `folder`. What is no text is left out.
    pub fn read(folder: &Path) -> Left {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let text = |entry: &std::fs::DirEntry| std::fs::read_to_string(entry.path()).ok();
        Left(entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, text(&entry)?))).collect())
    }

    /// Files with these names and texts, for tests.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Left {
        Left(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    /// The kernel that ran.
    pub fn kernel(&self) -> &str {
        self.text("kernel").trim()
    }

    /// The text of a file; empty without such a file.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A file of JSON; the error quotes what it is instead.
    pub fn json(&self, name: &str) -> Result<Value, String> {
        let text = self.text(name);
        serde_json::from_str(text).map_err(|error| format!("{name}: {error}: {}", text.trim()))
    }

    /// That the lines of an account of the resident set, as `viewer reconcile --json` prints it, sum to it and leave no more unexplained than
    /// the account promises.
    pub fn account_closes(&self, name: &str) -> Result<String, String> {
        let json = self.json(name)?;
        let lines = json["lines"].as_array().ok_or("no lines")?;
        let sum: i64 = lines.iter().filter_map(bytes).sum();
        let rss = json["rss_bytes"].as_i64().ok_or("no RSS")?;
        let last = lines.last().map(|line| (&line["name"], bytes(line)));
        let unexplained = match last {
            Some((name, Some(bytes))) if name == "unexplained" => bytes,
            other => return Err(format!("the last line is {other:?}")),
        };
        let seen = format!("RSS {rss}, unexplained {unexplained}");
        let small = unexplained.abs() <= (rss / 200).max(MIB);
        if sum == rss && small { Ok(seen) } else { Err(format!("{seen}, the lines sum to {sum}")) }
    }
}

/// The bytes of a line; none where it could not be read.
pub fn bytes(line: &Value) -> Option<i64> {
    line["bytes"].as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_must_sum_and_leave_little() {
        let of = |rest: i64, rss: i64| {
            let lines =
                serde_json::json!([{"name": "requested", "bytes": 5 * MIB}, {"name": "unexplained", "bytes": rest}]);
            let json = serde_json::json!({"rss_bytes": rss, "lines": lines}).to_string();
            Left::of(&[("book.json", &json)]).account_closes("book.json")
        };
        assert!(of(-9, 5 * MIB - 9).is_ok());
        assert!(of(-9, 5 * MIB).is_err(), "it does not sum");
        assert!(of(2 * MIB, 7 * MIB).is_err(), "too much is unexplained");
    }
}
