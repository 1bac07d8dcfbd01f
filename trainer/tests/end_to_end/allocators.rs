//! `trainer compare --allocator`: the same run over several allocators, each of which serves C++ as well.
use std::process::Command;

use crate::common::{small_data, trainer};
use serde_json::Value;

#[test]
fn three_allocators_side_by_side() {
    let (data, folder) = (small_data(8), tempfile::tempdir().expect("a folder"));
    let (data, out) = (data.path().to_str().expect("UTF-8"), folder.path().to_str().expect("UTF-8"));
    let args = ["compare", "--allocator", "jemalloc:dirty_decay_ms:0,glibc,mimalloc", "--repeat", "2", "--json"];
    let work = ["--models", "resnet18", "--modes", "infer", "--batch", "2", "--image-size", "33", "--steps", "3"];
    let ran = trainer(&[&args[..], &work, &["--threads", "1", "--data", data, "--out", out]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let comparison: Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
    let rows = comparison["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(row["missing"], Value::Null, "{row}");
        assert_eq!(row["peak_rss_bytes"]["count"], 2, "one a process: {row}");
        assert_eq!(row["step_ns"]["count"], 2 * (3 - 1), "a process's first step warms up: {row}");
        // libtorch registers its operators in 50 MB of blocks, and ResNet-18 has 47 MB of parameters.
        assert!(row["peak_rss_bytes"]["least"].as_u64().is_some_and(|bytes| bytes > 97_000_000), "{row}");
    }
    let live = |row: &Value| row["peak_live_bytes"].as_u64();
    assert!(live(&rows[0]).is_some_and(|bytes| bytes > 97_000_000), "{}", rows[0]);
    assert!(live(&rows[1]).is_some_and(|bytes| bytes > 97_000_000), "{}", rows[1]);
    assert_eq!(live(&rows[2]), None);
    assert!(rows[2]["peak_live_missing"].is_string(), "no number without a reason: {}", rows[2]);
    // What was compared is what the timelines say.
    let timeline = alloc_timeline::load(folder.path().join("resnet18-infer-glibc.timeline.json")).expect("whole");
    assert_eq!((timeline.allocator.backend.as_str(), Some(timeline.peak.live_bytes)), ("system", live(&rows[1])));
    let tuned = folder.path().join("resnet18-infer-jemalloc-dirty_decay_ms-0.timeline.json");
    let config = alloc_timeline::load(tuned).expect("whole").allocator.config;
    assert!(config.values().any(|value| value.contains("dirty_decay_ms:0")), "{config:?}");
}

/// The dynamic loader itself says whose `malloc` libtorch calls.
#[test]
fn mimalloc_serves_libtorch() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("bindings");
    let status = Command::new(env!("CARGO_BIN_EXE_trainer-mimalloc"))
        .arg("--version")
        .env("LD_DEBUG", "bindings")
        .env("LD_BIND_NOW", "1")
        .env("LD_DEBUG_OUTPUT", &log)
        .output()
        .expect("the binary starts")
        .status;
    assert!(status.success());
    let logs = std::fs::read_dir(folder.path()).expect("readable").flatten();
    let bindings: String = logs.map(|log| std::fs::read_to_string(log.path()).expect("text")).collect();
    for (library, symbol) in [("libc10.so", "`posix_memalign'"), ("libc10.so", "`free'"), ("libstdc++.so", "`malloc'")]
    {
        let bound: Vec<&str> = bindings
            .lines()
            .filter(|line| {
                line.contains(symbol) && line.split(" to ").next().is_some_and(|from| from.contains(library))
            })
            .collect();
        assert!(!bound.is_empty(), "{library} calls {symbol}");
        assert!(bound.iter().all(|line| line.contains("/trainer-mimalloc [0]: ")), "{bound:?}");
    }
}

#[test]
fn what_is_no_allocator_is_refused() {
    let data = small_data(4);
    let data = data.path().to_str().expect("UTF-8");
    let refused = |allocator: &str, says: &str| {
        let args = ["compare", "--allocator", allocator, "--models", "resnet18", "--modes", "infer", "--data", data];
        let ran = trainer(&[&args[..], &["--batch", "2", "--image-size", "33", "--steps", "1"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "{says:?} is missing in: {}", ran.stderr);
    };
    refused("tcmalloc", "no such allocator; give one of jemalloc, glibc, mimalloc");
    refused("glibc:arenas:1", "no setting `arenas` that is known here");
    refused("jemalloc:no_such_setting:1", "jemalloc refuses the setting: <jemalloc>: Invalid conf pair");
}
