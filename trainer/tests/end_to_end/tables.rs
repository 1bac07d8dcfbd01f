//! `trainer tables` and `trainer fit-table`: published, planned and measured memory, and the largest batches.
use crate::common::{Ran, small_data, trainer};
use serde_json::Value;

#[track_caller]
fn json(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

/// The corners of the seed document's table of batches, and the least-squares lines of the plan, which are exact.
#[test]
fn the_published_memory_beside_the_plan() {
    let args = ["tables", "--batches", "1,3,50", "--optimizer", "adam", "--json"];
    let tables = json(&trainer(&args));
    let rows = tables["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 5 * 3);
    for (model, batch, mib) in [("resnet18", 1, 230.05), ("resnet152", 50, 25_776.48), ("resnet50", 3, 1_091.11)] {
        let row = rows.iter().find(|row| row["model"] == model && row["batch"] == batch).expect("a row");
        let published = row["published_mib"].as_f64().expect("a ResNet at 224");
        assert!((published - mib).abs() < 0.01, "{row}");
        let (twice, plan) = (row["every_map_twice_bytes"].as_u64(), row["plan_peak_bytes"].as_u64());
        assert!(twice > plan && plan > Some(0), "{row}");
    }
    let lines = tables["lines"].as_array().expect("lines");
    let line =
        lines.iter().find(|line| line["model"] == "resnet18" && line["category"] == "activation").expect("a line");
    // Two numbers of 4 bytes a channel of a batch norm, loss and its weight; 20.582 MiB an image.
    assert_eq!((&line["constant_bytes"], &line["bytes_an_image"]), (&38_408.0.into(), &21_581_728.0.into()));
    for line in lines {
        assert_eq!(line["residual_bytes"], 0.0, "{line}");
    }
}

/// Every category of every run is what the plan says, but for workspace, which it does not know.
#[test]
fn the_measured_memory_beside_the_plan() {
    let data = small_data(8);
    let folder = data.path().to_str().expect("UTF-8");
    let args =
        ["tables", "--models", "lenet5", "--batches", "2,3,5", "--image-size", "32", "--classes", "10", "--measure"];
    let tables = json(&trainer(&[&args[..], &["--data", folder, "--threads", "1", "--json"]].concat()));
    for row in tables["rows"].as_array().expect("rows") {
        let (planned, measured) = (&row["by_category"], &row["measured"]["by_category"]);
        for (category, bytes) in planned.as_object().expect("categories") {
            assert_eq!(&measured[category], bytes, "{category}: {row}");
        }
        assert!(row["measured"]["live_bytes"].as_u64() > row["measured"]["tensor_bytes"].as_u64(), "{row}");
    }
    let lines = tables["lines"].as_array().expect("lines");
    let measured = lines.iter().filter(|line| line["by"] == "measured" && line["category"] != "workspace");
    assert!(measured.clone().count() >= 5);
    assert!(measured.into_iter().all(|line| line["residual_bytes"] == 0.0), "{lines:?}");
}

#[test]
fn a_size_that_fits_nothing_is_left_out_with_its_reason() {
    let ran = trainer(&["tables", "--models", "lenet5,resnet18", "--image-size", "64"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("left out: lenet5: --image-size 64: `fc1` takes 400"), "{}", ran.stderr);
    assert!(ran.stdout.contains("\nresnet18 ") && !ran.stdout.contains("\nlenet5 "), "{}", ran.stdout);
    let ran = trainer(&["tables", "--models", "lenet5", "--image-size", "64"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let ran = trainer(&["tables", "--models", "resnet19"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("did you mean resnet18?"), "{}", ran.stderr);
}

/// With a base that is stated nothing runs. More memory and less state never fit fewer.
#[test]
fn the_largest_batches() {
    let table = |optimizer: &str| {
        let args =
            ["fit-table", "--models", "lenet5,resnet18,vgg19", "--budgets", "8G,512M", "--base", "80M", "--json"];
        json(&trainer(&[&args[..], &["--optimizer", optimizer]].concat()))
    };
    let [sgd, adam] = [table("sgd"), table("adam")];
    let largest = |table: &Value, row: usize, edge: usize| table["rows"][row]["edges"][edge]["largest"].as_u64();
    for row in 0..3 {
        assert!(largest(&sgd, row, 0) > largest(&sgd, row, 1), "{sgd}");
        assert!(largest(&sgd, row, 0) >= largest(&adam, row, 0), "{adam}");
    }
    assert_eq!(largest(&sgd, 2, 1), Some(0), "VGG-19's parameters alone have 548 MiB");
    let suite = sgd["suite"].as_array().expect("the suite");
    assert_eq!(suite.len(), 16);
    let plan = &suite.iter().find(|entry| entry["model"] == "vgg19").expect("listed")["plan"];
    assert_eq!(plan["category"], "activation", "at batch 64");
}

/// Each network of the seed document's list that does not train says why, and each that does says nothing of the kind.
#[test]
fn what_makes_a_network_fail() {
    let args = ["fit-table", "--models", "lenet5,vgg16", "--budgets", "8G,1G,512M,64M", "--base", "80M"];
    let table = json(&trainer(&[&args[..], &["--json"]].concat()));
    let reasons: Vec<Option<&str>> = table["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .flat_map(|row| row["edges"].as_array().expect("edges"))
        .map(|edge| edge["reason"]["kind"].as_str())
        .collect();
    let process = Some("process");
    assert_eq!(reasons, [None, None, None, process, None, Some("weights_and_state"), Some("weights"), process]);
    for entry in table["suite"].as_array().expect("the suite") {
        let plan = &entry["plan"];
        assert_eq!(plan["reason"].is_null(), plan["bytes"].as_u64() <= Some(8 << 30), "{entry}");
        assert_eq!(plan["reason"].is_null(), plan["largest_batch"].as_u64() >= Some(64), "{entry}");
    }
    let text = trainer(&args).stdout;
    for line in [
        "vgg16 in 1 GiB: no batch fits: weights, gradients and optimizer state alone are too large, whatever the batch: \
         527.8 MiB + 527.8 MiB + 527.8 MiB",
        "vgg16 in 512.0 MiB: no batch fits: the weights alone are too large: 527.8 MiB",
        "lenet5 in 64.0 MiB: no batch fits: the process alone needs 80.0 MiB, before it has a network",
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?} is missing in\n{text}");
    }
    assert!(text.contains("the maps of 64 images are too large together: "), "{text}");
}

/// LeNet-5's first convolution makes 6 maps, for which oneDNN may take room for 8 or 16 in a layout of its own: that is measured,
/// and is more than a tenth of what grows with the batch. So the edge is where runs under the budget find it.
#[test]
fn the_edge_is_where_runs_find_it() {
    let data = small_data(8);
    let folder = data.path().to_str().expect("UTF-8");
    let args = ["fit-table", "--models", "lenet5", "--budgets", "160M", "--threads", "1", "--data", folder, "--verify"];
    let edge = &json(&trainer(&[&args[..], &["--json"]].concat()))["rows"][0]["edges"][0];
    let shapes = json(&trainer(&["fit-table", "--models", "lenet5", "--budgets", "160M", "--base", "70M", "--json"]));
    let of_shapes = shapes["rows"][0]["edges"][0]["largest"].as_u64().expect("a number");
    let (largest, needed) = (edge["largest"].as_u64().expect("a number"), &edge["needed"]);
    assert!(largest > 0 && largest <= of_shapes, "{edge} {of_shapes}");
    let parts =
        ["plan_bytes", "workspace_bytes", "process_bytes", "page_table_bytes"].map(|part| needed[part].as_u64());
    assert!(parts.iter().flatten().sum::<u64>() <= 160 << 20 && parts.iter().all(Option::is_some), "{edge}");
    let Some(off) = edge["off_percent"].as_f64() else {
        let why = edge["skipped"].as_str().expect("either the edge was found, or the answer says why it was not");
        eprintln!("SKIPPED: the edge was not looked for: {why}");
        return;
    };
    assert!(off.abs() < 5.0, "{edge}");
}

/// Char-CNN tells four files apart, as many as its reference has classes; the folder has six.
#[test]
fn more_texts_than_classes_are_measured_all_the_same() {
    let data = small_data(8);
    for name in ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt"] {
        std::fs::write(data.path().join(name), "memory ".repeat(700)).expect("written");
    }
    let folder = data.path().to_str().expect("UTF-8");
    let args = ["fit-table", "--models", "char_cnn", "--budgets", "1G", "--threads", "1", "--data", folder, "--json"];
    let row = &json(&trainer(&args))["rows"][0];
    assert_eq!(row["not_measured"], Value::Null, "{row}");
}

#[test]
fn a_budget_of_nothing_is_refused() {
    let ran = trainer(&["fit-table", "--budgets", "1G,0", "--base", "80M"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("no program runs in no memory; give more"), "{}", ran.stderr);
}

/// What a network cannot take is told before anything is measured.
#[test]
fn sizes_of_other_networks_are_left_out() {
    let ran = trainer(&["fit-table", "--models", "lenet5,dcgan,resnet18", "--image-size", "64", "--base", "80M"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr
            .starts_with("left out: lenet5: --image-size 64: `fc1` takes 400 channels or features, and 2704 reach it")
    );
    let ran = trainer(&["fit-table", "--models", "dcgan", "--image-size", "32", "--base", "80M"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.starts_with("left out: dcgan: --image-size 32: dcgan works on images of 64x64 alone"),
        "{}",
        ran.stderr
    );
}
