//! The summary of a real training run: every split adds up to the live bytes, at most 0.5 % of the bytes have no owner,
//! and the JSON has the fields and the types that scripts rely on.
use serde_json::{Map, Value};
use tests::{Config, summary};

const MODELS: [&str; 2] = ["resnet18", "mobilenet_v1"];

fn summary_of(model: &'static str) -> Value {
    summary(Config::train(model, 2, 224, 2).run())
}

fn split<'a>(summary: &'a Value, name: &str) -> &'a Map<String, Value> {
    summary["peak"][name].as_object().unwrap_or_else(|| panic!("peak.{name} is no object"))
}

/// Each byte has one phase, one layer, one op and one category; `(none)` is one of the names.
#[test]
fn every_split_sums_to_the_live_bytes() {
    for model in MODELS {
        let summary = summary_of(model);
        for name in ["by_phase", "by_layer", "by_op", "by_category"] {
            let sum: u64 = split(&summary, name).values().map(|bytes| bytes.as_u64().expect("bytes")).sum();
            assert_eq!(summary["peak"]["live_bytes"], sum, "{model}, {name}");
        }
    }
}

/// At most 0.5 % of the peak's bytes may be unattributed.
#[test]
fn hardly_a_byte_is_unattributed() {
    for model in MODELS {
        let summary = summary_of(model);
        let bytes = |name: &str| summary["peak"][name].as_u64().expect("bytes");
        let (nobodys, live) = (bytes("unattributed_bytes"), bytes("live_bytes"));
        assert!(nobodys * 200 <= live, "{model}: {nobodys} of {live} bytes");
    }
}

/// The keys that scripts rely on are all there, and are integers.
#[test]
fn the_contracts_keys_are_integers() {
    for model in MODELS {
        let summary = summary_of(model);
        let mut integers = vec![("", "format_version")];
        for key in ["live_bytes", "requested_bytes", "time_ns", "slack_bytes", "unattributed_bytes"] {
            integers.push(("peak", key));
        }
        for key in ["allocations", "frees", "allocated_bytes", "live_at_exit_bytes"] {
            integers.push(("totals", key));
        }
        integers.extend([("rss", "peak_bytes"), ("rss", "at_peak_bytes")]);
        for key in ["overhead_bytes", "dropped_events", "foreign_frees"] {
            integers.push(("tracker", key));
        }
        integers.push(("run", "batch"));
        for (part, key) in integers {
            let value = if part.is_empty() { &summary[key] } else { &summary[part][key] };
            assert!(value.is_u64(), "{model}: {part}.{key} is {value}");
        }
        for name in ["by_phase", "by_layer", "by_op", "by_category"] {
            assert!(split(&summary, name).values().all(Value::is_u64), "{model}: peak.{name}");
        }
        let book = summary["reconcile"].as_array().expect("a list of lines");
        assert!(book.iter().all(|line| line["name"].is_string() && line["bytes"].is_i64()), "{book:?}");
        assert_eq!(book.last().expect("lines")["name"], "unexplained");
        assert_eq!(summary["run"]["model"], model);
        assert_eq!(summary["run"]["mode"], "train");
        assert_eq!(summary["format_version"], 1);
    }
}
