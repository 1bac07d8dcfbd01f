//! The part of a timeline that is committed as a baseline. Left out are paths of the machine that made it, and what is long
//! and not compared by `viewer check`: the snapshots at marks, what became of the blocks, times.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

/// Fields of a timeline that may be missing, and that `viewer check` does not compare.
const LEFT_OUT: [&str; 3] = ["analysis", "step_times", "utilisation"];

/// The baseline made from a timeline, as text.
pub fn from_timeline(timeline: &str, root: &Path) -> Result<String> {
    let mut value: Value = serde_json::from_str(timeline)?;
    if let Some(marks) = value.get_mut("marks") {
        *marks = Value::Array(Vec::new());
    }
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
    }
    remove_machine_paths(&mut value, &root.to_string_lossy());
    Ok(format!("{value}\n"))
}

fn remove_machine_paths(value: &mut Value, root: &str) {
    match value {
        Value::String(text) => {
            if let Some(short) = without_machine_path(text, root) {
                *text = short;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| remove_machine_paths(value, root)),
        Value::Object(fields) => fields.values_mut().for_each(|value| remove_machine_paths(value, root)),
        _ => {}
    }
}

/// For an absolute path below the root, the path from the root. For any other absolute path the name of the file, but
/// nothing to change for a path of the system.
fn without_machine_path(text: &str, root: &str) -> Option<String> {
    if !text.starts_with('/') || ["/lib", "/usr/"].iter().any(|system| text.starts_with(system)) {
        return None;
    }
    if let Some(below) = text.strip_prefix(root).and_then(|below| below.strip_prefix('/')) {
        return Some(below.to_owned());
    }
    text.rsplit('/').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_holds_no_path_of_the_machine_and_nothing_long_that_is_not_compared() {
        let timeline = r#"{"analysis":{},"marks":[{"name":"end of forward"}],"run":{"batch":2,"command":["/home/me/co/target/release/trainer",
            "train","--out","target/gate/a.json"],"elsewhere":"/big/target/release/trainer"},
            "objects":["/home/me/co/.libtorch/lib/libc10.so","/lib/x86_64-linux-gnu/libc.so.6"]}"#;
        let expected = concat!(
            r#"{"marks":[],"objects":[".libtorch/lib/libc10.so","/lib/x86_64-linux-gnu/libc.so.6"],"#,
            r#""run":{"batch":2,"command":["target/release/trainer","train","--out","target/gate/a.json"],"#,
            r#""elsewhere":"trainer"}}"#,
            "\n"
        );
        assert_eq!(from_timeline(timeline, Path::new("/home/me/co")).unwrap(), expected);
    }

    #[test]
    fn what_is_no_timeline_is_an_error() {
        assert!(from_timeline("not json", Path::new("/home/me/co")).is_err());
    }
}
