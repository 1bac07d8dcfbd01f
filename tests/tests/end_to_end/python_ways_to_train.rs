//! What training scripts in Python do beside the usual loop: one program, with a table at the end of each part.
use alloc_timeline::{Category, Timeline};
use tests::{folder, requested_by_layer, rows, tables};

use super::python_torch::{python, recorded};

/// Bytes by layer that are live at the mark in blocks of this category.
fn by_layer(timeline: &Timeline, mark: &str, category: Category) -> Vec<(String, u64)> {
    let [table] = tables(timeline, mark)[..] else { panic!("{mark}: not one table") };
    requested_by_layer(timeline, table, category).into_iter().collect()
}

fn pairs(of: &[(&str, u64)]) -> Vec<(String, u64)> {
    of.iter().map(|(layer, bytes)| ((*layer).to_owned(), *bytes)).collect()
}

#[test]
fn what_scripts_do_beside_the_usual_loop() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (ran, timeline) = recorded(python, folder.path(), "ways_to_train.py");
    // Plain PyTorch warns of nothing here.
    assert!(!ran.stderr.contains("Warning"), "{}", ran.stderr);

    // Transforms are modules without parameters: what they make, and what comes after them, is in no phase.
    let [data] = tables(&timeline, "data")[..] else { panic!("no table") };
    for bytes in [4 * 64 * 500 * 4, 300 * 1000 * 4] {
        let found = rows(&timeline, data).find(|(_, row)| row.requested_bytes == bytes);
        let (scope, row) = found.unwrap_or_else(|| panic!("{bytes} bytes"));
        assert_eq!((scope.phase.as_str(), row.category), ("", Category::Other), "{bytes} bytes");
    }

    // LBFGS keeps the state of all parameters in one piece, at the first of them.
    let flat = by_layer(&timeline, "flat state", Category::OptimizerState);
    assert!(flat.iter().all(|(layer, bytes)| layer.is_empty() || *bytes < 64) && !flat.is_empty(), "{flat:?}");

    // Parameters and buffers stay what they are when modules are given them.
    let weights = [("0", (500 * 400 + 400) * 4), ("2", (400 * 300 + 300) * 4)];
    assert_eq!(by_layer(&timeline, "kept", Category::Parameter), pairs(&weights));
    assert_eq!(by_layer(&timeline, "kept", Category::Buffer), pairs(&[("Sequential", 300_000 * 4)]));

    // The attention uses a parameter of its part, which is not called.
    let of_attention = |category| -> Vec<_> {
        let all = by_layer(&timeline, "attention", category).into_iter();
        all.filter(|(layer, _)| layer.starts_with("TransformerEncoderLayer")).collect()
    };
    let parameters = of_attention(Category::Parameter);
    assert!(parameters.iter().any(|(layer, _)| layer.ends_with("self_attn.out_proj")), "{parameters:?}");
    assert_eq!(of_attention(Category::Gradient), parameters);

    // A wrapper's network trains, and what it makes is kept for that; a frozen teacher's result is not.
    for (mark, bytes, phase) in [("wrapped", 800 * 70 * 4, "forward"), ("taught", 800 * 60 * 4, "infer")] {
        let [table] = tables(&timeline, mark)[..] else { panic!("no table") };
        let found: Vec<_> = rows(&timeline, table).filter(|(_, row)| row.requested_bytes == bytes).collect();
        let phases: Vec<&str> = found.iter().map(|(scope, _)| scope.phase.as_str()).collect();
        assert_eq!(phases, [phase], "{mark}: {found:?}");
    }

    let inserted = by_layer(&timeline, "inserted", Category::Parameter);
    let alone = inserted.iter().filter(|(layer, _)| layer.starts_with("Linear"));
    assert!(alone.clone().all(|(_, bytes)| *bytes != (64 * 64 + 64) * 4), "{inserted:?}");
    let blocks: u64 = inserted.iter().filter(|(layer, _)| layer.starts_with("Blocks.")).map(|(_, bytes)| bytes).sum();
    assert_eq!(blocks, 3 * (64 * 64 + 64) * 4);

    // A network whose parameters are frozen is compiled, and (there was one of fake tensors before) what comes after it is told as before.
    for category in [Category::Parameter, Category::Gradient, Category::OptimizerState] {
        let found = by_layer(&timeline, "compiled", category);
        assert!(found.contains(&("Linear#4".to_owned(), (100 * 50 + 50) * 4)), "{category}: {found:?}");
    }
}

/// What owns the block of so many bytes that is live at a mark: phase, layer and category. There is one.
fn owner(timeline: &Timeline, mark: &str, bytes: u64) -> (String, String, Category) {
    let [table] = tables(timeline, mark)[..] else { panic!("{mark}: not one table") };
    let found: Vec<_> = rows(timeline, table).filter(|(_, row)| row.requested_bytes == bytes).collect();
    let [(scope, row)] = &found[..] else { panic!("{mark}: {bytes} bytes: {found:?}") };
    (scope.phase.clone(), scope.layer.clone(), row.category)
}

#[test]
fn what_fewer_scripts_do() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "more_ways_to_train.py");
    let category = |mark: &str, bytes| owner(&timeline, mark, bytes).2;

    // A transform that is made of others is no network.
    for bytes in [4 * 64 * 500 * 4, 300 * 1000 * 4] {
        let (phase, _, category) = owner(&timeline, "composed", bytes);
        assert_eq!((phase.as_str(), category), ("", Category::Other), "{bytes}");
    }
    // A forward pass without a backward pass: what is made out of nothing after it, and all after the next network is made, is no activation.
    assert_eq!(category("probed", 2000 * 14 * 14 * 4), Category::Other);
    assert_eq!(owner(&timeline, "probed", 700 * 300 * 4), (String::new(), String::new(), Category::Other));
    assert_eq!(owner(&timeline, "raised", 900 * 300 * 4), (String::new(), String::new(), Category::Other));

    // Parameters stay parameters, whatever memory they are given.
    let net = "Sequential#2";
    let [first, last] = [(100 * 200 + 200) * 4, (200 * 50 + 50) * 4];
    for mark in ["replaced", "put back"] {
        let found = by_layer(&timeline, mark, Category::Parameter);
        for (part, bytes) in [("0", first), ("2", last)] {
            let expected = (format!("{net}.{part}"), bytes);
            assert!(found.contains(&expected), "{mark}: {expected:?} in {found:?}");
        }
    }
    let given = by_layer(&timeline, "given", Category::Buffer);
    for expected in [(net.to_owned(), 5000 * 4), (format!("{net}.2"), 3000 * 4)] {
        assert!(given.contains(&expected), "{expected:?} in {given:?}");
    }
    // The optimizer has those that were there before.
    let given = by_layer(&timeline, "given", Category::Parameter);
    assert!(given.contains(&(format!("{net}.2"), 2 * last)), "{given:?}");

    // The outputs of the first layers of three networks at once.
    let tables = tables(&timeline, "ensemble");
    assert_eq!(tables.len(), 3);
    let made: Vec<_> = rows(&timeline, tables[2]).filter(|(_, row)| row.requested_bytes == 3 * 64 * 40 * 4).collect();
    assert!(
        made.iter().all(|(scope, row)| scope.phase == "forward" && row.category == Category::Activation),
        "{made:?}"
    );
    let time = |name: &str| timeline.marks.iter().find(|mark| mark.name == name).expect("the mark").time_ns;
    let (begins, ends) = (time("ensemble begins"), time("ensemble ends"));
    let steps = timeline.steps.iter().filter(|step| step.start_ns > begins && step.end_ns < ends);
    assert_eq!(steps.count(), 3);
    let stacked: u64 = rows(&timeline, tables[2])
        .filter(|(scope, row)| scope.layer.is_empty() && row.category == Category::Parameter)
        .map(|(_, row)| row.requested_bytes)
        .sum();
    // Those of the three networks, and the same stacked.
    assert_eq!(stacked, 2 * 3 * (70 * 40 + 40 + 40 * 30 + 30) * 4);

    // One of one process has all of each parameter. PyTorch puts the gradients of all into one block, which is the first layer's.
    let [first, last] = [(110 * 210 + 210) * 4, (210 * 55 + 55) * 4];
    for (category, expected) in [
        (Category::Parameter, [first, last]),
        (Category::Gradient, [first + last, 0]),
        (Category::OptimizerState, [2 * first, 2 * last]),
    ] {
        let found = by_layer(&timeline, "sharded", category);
        for (part, expected) in ["FSDPSequential.0", "FSDPSequential.2"].into_iter().zip(expected) {
            let held = found.iter().find(|(layer, _)| layer == part).map_or(0, |(_, bytes)| *bytes);
            // Adam counts its steps in four bytes for each parameter.
            assert!((expected..=expected + 8).contains(&held), "{category} {part}: {found:?}");
        }
    }
    let compiled = by_layer(&timeline, "compiled", Category::Parameter);
    let bytes = (50 * 60 + 60) * 4;
    assert!(compiled.contains(&("Block.inner".to_owned(), bytes)), "{compiled:?}");
    assert!(compiled.iter().all(|(layer, _)| !layer.contains("OptimizedModule")), "{compiled:?}");
}

#[test]
fn tensors_that_no_module_has_are_parameters_of_their_optimizer() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "plain_tensors.py");
    let bytes = (100 * 20 + 60 * 200 + 200 * 100) * 4;
    for (category, least) in
        [(Category::Parameter, bytes), (Category::Gradient, bytes), (Category::OptimizerState, 2 * bytes)]
    {
        let all: u64 = by_layer(&timeline, "end", category).into_iter().map(|(_, bytes)| bytes).sum();
        assert!((least..least + 64).contains(&all), "{category}: {all} of {least}");
    }
    assert_eq!(timeline.steps.len(), 4);
}
