//! The benchmark of one convolution, small, on real runs.
use crate::common::{number, rows, trainer};

#[test]
fn one_convolution() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("conv");
    let out = out.to_str().expect("UTF-8");
    let size = ["--channels", "4", "--image-size", "16", "--infer-batch", "1", "--train-batch", "2", "--steps", "3"];
    let args = ["conv-bench", "--kernels", "1,3", "--repeat", "1", "--threads", "1", "--out", out];
    let ran = trainer(&[&args[..], &size, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON and nothing else");
    let runs = json["runs"].as_array().expect("runs");
    // A multiplication and an addition for each of 4 x 4 channels, 9 weights or 1, and 256 pixels, of one image.
    let operations = |kernel: u64| {
        let run = runs.iter().find(|run| run["kernel"] == kernel && run["mode"] == "infer");
        run.map(|run| run["forward_operations"].as_u64())
    };
    assert_eq!((runs.len(), operations(3), operations(1)), (4, Some(Some(2 * 16 * 9 * 256)), Some(Some(2 * 16 * 256))));
    assert_eq!(runs[0]["step_ns"].as_array().map(Vec::len), Some(3));
    let rows = rows(&folder.path().join("conv/conv.csv"));
    assert_eq!(rows.len(), 4, "two kernels in two modes");
    for row in &rows {
        assert!(number(row, "step_ns_median") > 0.0 && number(row, "steady_steps") == 2.0, "{row:?}");
        // The image and the result are alive together: 4 channels x 16 x 16 pixels x 4 bytes, each.
        assert!(number(row, "peak_live_bytes") >= 2.0 * 4096.0 * number(row, "batch"), "{row:?}");
    }
    for mode in ["infer", "train"] {
        for what in ["time", "memory"] {
            assert!(folder.path().join(format!("conv/conv-{what}-{mode}.svg")).exists());
        }
    }
    let even = trainer(&["conv-bench", "--kernels", "2", "--out", out]);
    assert_eq!(even.code, Some(2));
    assert!(even.stderr.contains("give odd ones"), "{}", even.stderr);
}
