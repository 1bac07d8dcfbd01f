//! What of a timeline is worth committing: no paths of the machine that made it, and no snapshots at marks, which are two
//! thirds of the file and nothing that `viewer check` compares.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

/// The baseline made from a timeline, as text.
pub fn of(timeline: &str, root: &Path) -> Result<String> {
    let mut value: Value = serde_json::from_str(timeline)?;
    if let Some(marks) = value.get_mut("marks") {
        *marks = Value::Array(Vec::new());
    }
    forget_paths(&mut value, &root.to_string_lossy());
    Ok(format!("{value}\n"))
}

fn forget_paths(value: &mut Value, root: &str) {
    match value {
        Value::String(text) => {
            if let Some(short) = shorter(text, root) {
                *text = short;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| forget_paths(value, root)),
        Value::Object(fields) => fields.values_mut().for_each(|value| forget_paths(value, root)),
        _ => {}
    }
}

/// A path below the root as seen from the root; of any other path that is not the system's, the file's name.
fn shorter(text: &str, root: &str) -> Option<String> {
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
    fn a_baseline_holds_no_path_of_the_machine_and_no_marks() {
        let timeline = r#"{"marks":[{"name":"end of forward"}],"run":{"batch":2,"command":["/home/me/co/target/release/trainer",
            "train","--out","target/gate/a.json"],"elsewhere":"/big/target/release/trainer"},
            "objects":["/home/me/co/.libtorch/lib/libc10.so","/lib/x86_64-linux-gnu/libc.so.6"]}"#;
        let expected = concat!(
            r#"{"marks":[],"objects":[".libtorch/lib/libc10.so","/lib/x86_64-linux-gnu/libc.so.6"],"#,
            r#""run":{"batch":2,"command":["target/release/trainer","train","--out","target/gate/a.json"],"#,
            r#""elsewhere":"trainer"}}"#,
            "\n"
        );
        assert_eq!(of(timeline, Path::new("/home/me/co")).unwrap(), expected);
    }

    #[test]
    fn what_is_no_timeline_is_an_error() {
        assert!(of("not json", Path::new("/home/me/co")).is_err());
    }
}
