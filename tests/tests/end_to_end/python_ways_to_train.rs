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
