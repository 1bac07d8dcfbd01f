//! What `viewer growth` says of sixty steps in which six owners hold memory in six ways (`victims/growth.rs`).
use serde_json::{Value, json};
use tests::{folder, stored, text, victim, viewer};

/// The JSON of `viewer growth` for the victim, and its text.
fn growth() -> (Value, String) {
    let (ran, timeline) = victim(env!("CARGO_BIN_EXE_victim-growth"), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let folder = folder();
    let path = stored(&timeline, &folder, "growth.timeline.json");
    let (json, words) = (viewer(&["growth", text(&path), "--json"]), viewer(&["growth", text(&path)]));
    assert_eq!((json.code, words.code), (Some(0), Some(0)), "{}{}", json.stderr, words.stderr);
    let json: Value = serde_json::from_str(&json.stdout).expect("one JSON object");
    (json["growth"].clone(), words.stdout)
}

#[test]
fn a_leak_is_told_from_a_warm_up_a_cache_and_noise() {
    let (growth, words) = growth();
    let owners = growth["owners"].as_array().expect("owners");
    let trend = |phase: &str, layer: &str| {
        let owner = owners.iter().find(|owner| owner["phase"] == phase && owner["layer"] == layer);
        owner.unwrap_or_else(|| panic!("no {phase} {layer}: {growth}"))["trend"].clone()
    };
    assert_eq!(
        trend("data", "(none)"),
        json!({ "kind": "grows", "since_step": 12, "bytes_per_step": 4 << 20, "slowing": false })
    );
    // 16 blocks of 64 bytes a step, which the recorder counts in batches.
    assert_eq!(
        trend("forward", "encoder.3"),
        json!({ "kind": "grows", "since_step": 1, "bytes_per_step": 1024, "slowing": false })
    );
    // 4, 8, 16, 32, 64 KiB; 60 KiB in 59 steps.
    assert_eq!(
        trend("metrics", "(none)"),
        json!({ "kind": "doubles", "since_step": 5, "bytes_per_step": 1041, "last_step": 33 })
    );
    assert_eq!(trend("forward", "warm"), json!({ "kind": "warm_up", "until_step": 3 }));
    let cache = trend("forward", "conv1");
    assert_eq!(cache["kind"], "levelled_off", "{cache}");
    assert_eq!(trend("forward", "noisy"), json!({ "kind": "uneven" }));
    assert_eq!(owners.len(), 6, "and nobody else changed");
    assert_eq!(growth["bytes_per_step"], (4 << 20) + 1024 + 1041);

    let steps = growth["steps"].as_array().expect("steps").len();
    assert_eq!(steps, 60);
    let number = |value: &Value| value.as_u64().expect("bytes");
    for step in 0..steps {
        let own: u64 = owners.iter().map(|owner| number(&owner["live_bytes"][step])).sum();
        let live = number(&growth["live_bytes"][step]);
        assert_eq!(own + number(&growth["other_bytes"][step]), live, "step {}", step + 1);
    }

    assert!(words.contains("  data: +4.0 MiB a step since step 12\n"), "{words}");
    assert!(words.contains("  encoder.3 in forward: +1.0 KiB a step since step 1\n"), "{words}");
}
