//! The writer, the schema and FORMAT.md say the same.
mod full;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

fn docs(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema() -> Value {
    serde_json::from_str(&docs("timeline.schema.json")).unwrap()
}

/// What is wrong with `document`, by the schema.
fn problems(document: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn document() -> Value {
    serde_json::to_value(full::timeline()).unwrap()
}

/// The names of all properties that the schema describes, with the path that leads there.
fn properties(schema: &Value, path: &str, found: &mut BTreeSet<(String, String)>) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                if key == "properties" {
                    for (name, property) in value.as_object().unwrap() {
                        found.insert((path.to_owned(), name.clone()));
                        properties(property, &format!("{path}/{name}"), found);
                    }
                } else {
                    properties(value, path, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| properties(item, path, found)),
        _ => {}
    }
}

#[test]
fn the_schema_is_a_schema() {
    assert!(jsonschema::draft202012::meta::is_valid(&schema()));
}

#[test]
fn a_timeline_with_every_field_is_valid() {
    assert_eq!(problems(&document()), Vec::<String>::new());
}

#[test]
fn an_empty_timeline_is_valid() {
    let timeline = alloc_timeline::Assembler::new().timeline();
    assert_eq!(problems(&serde_json::to_value(timeline).unwrap()), Vec::<String>::new());
}

/// The full timeline has a value at every place that the schema names, so no field of the schema is made up, and
/// `additionalProperties: false` means that no field of the writer is missing from it.
#[test]
fn the_schema_names_no_field_that_is_never_written() {
    fn names(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    found.insert(name.clone());
                    names(value, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| names(item, found)),
            _ => {}
        }
    }
    let mut written = BTreeSet::new();
    names(&document(), &mut written);
    let mut described = BTreeSet::new();
    properties(&schema(), "", &mut described);
    assert!(described.len() > 80, "{}", described.len());
    for (path, name) in described {
        assert!(written.contains(&name), "{path}/{name} is in the schema but not in a full timeline");
    }
}

#[test]
fn format_md_names_every_field() {
    let text = docs("FORMAT.md");
    let mut described = BTreeSet::new();
    properties(&schema(), "", &mut described);
    for (path, name) in described {
        assert!(text.contains(&format!("`{name}`")), "{path}/{name} is not in FORMAT.md");
    }
    let endings = schema()["properties"]["ending"]["enum"].clone();
    let categories = schema()["$defs"]["category"]["enum"].clone();
    for name in endings.as_array().unwrap().iter().chain(categories.as_array().unwrap()) {
        assert!(text.contains(&format!("`{}`", name.as_str().unwrap())), "{name} is not in FORMAT.md");
    }
    assert!(text.contains("At most 2,048 entries") && alloc_timeline::MAX_SAMPLES == 2048);
}

#[test]
fn what_is_wrong_is_refused() {
    let broken = |pointer: &str, value: Value| {
        let mut document = document();
        *document.pointer_mut(pointer).unwrap() = value;
        problems(&document)
    };
    for (pointer, value) in [
        ("/format", json!("other")),
        ("/format_version", json!(2)),
        ("/ending", json!("never")),
        ("/peak/live_bytes", json!(-1)),
        ("/peak/rows/0/category", json!("misc")),
        ("/series/time_ns/0", json!(1.5)),
        ("/book/lines/0/bytes", json!("many")),
    ] {
        assert_eq!(broken(pointer, value).len(), 1, "{pointer}");
    }
    let mut document = document();
    document["surprise"] = json!(1);
    assert_eq!(problems(&document).len(), 1);
}
