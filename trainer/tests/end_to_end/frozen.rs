//! Steps that change a part of a network only: what forward leaves for backward, the gradients and the optimizer's state, by
//! layer, are what `trainer plan --train-only` says, to the byte.
use crate::common::{ByLayer, by_layer, tables, trainer};
use alloc_timeline::{Category, Timeline};
use serde_json::Value;

/// Tests run in the package's folder.
const IMAGES: &str = "../fixtures/fashion-mnist";
const TEXTS: &str = "../docs";

/// A timeline keeps the tables of the latest four marks of a name.
const STEPS: usize = 4;

/// A network and the size of its input.
struct Case {
    model: &'static str,
    size: [&'static str; 2],
    data: &'static str,
}

const LENET5: Case = Case { model: "lenet5", size: ["--image-size", "32"], data: IMAGES };
const RESNET18: Case = Case { model: "resnet18", size: ["--image-size", "64"], data: IMAGES };
const MOBILENET_V1: Case = Case { model: "mobilenet_v1", size: ["--image-size", "64"], data: IMAGES };
const LSTM: Case = Case { model: "lstm", size: ["--length", "8"], data: TEXTS };
const SEQ2SEQ: Case = Case { model: "seq2seq", size: ["--length", "8"], data: TEXTS };
const BERT: Case = Case { model: "bert_tiny", size: ["--length", "8"], data: TEXTS };

impl Case {
    /// The flags that a run and its plan have in common.
    fn flags<'a>(&self, only: &'a str, seed: &'a str) -> Vec<&'a str> {
        let [flag, size] = self.size;
        vec!["--model", self.model, "--batch", "2", flag, size, "--train-only", only, "--seed", seed]
    }

    /// What the plan says of one step of a run.
    fn planned(&self, only: &str, seed: &str, step: usize) -> Value {
        let ran = trainer(&[&["plan", "--json", "--step", &step.to_string()], &self.flags(only, seed)[..]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).expect("one JSON object")
    }

    fn trained(&self, only: &str, seed: &str) -> Timeline {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("run.timeline.json");
        let (steps, out) = (STEPS.to_string(), out.to_str().expect("UTF-8"));
        let run = ["train", "--steps", &steps, "--threads", "1", "--data", self.data, "--out", out];
        let ran = trainer(&[&run, &self.flags(only, seed)[..]].concat());
        assert_eq!(ran.code, Some(0), "{} {only}: {}", self.model, ran.stderr);
        alloc_timeline::load(out).expect("a timeline")
    }

    /// Checks every step of a run against the plan of that step, and gives the saved bytes of each.
    #[track_caller]
    fn check(&self, only: &str, seed: &str) -> Vec<u64> {
        let timeline = self.trained(only, seed);
        assert!(only == "all" || timeline.run["train_only"] == only);
        let saved = found(&timeline, "end of forward", Category::Activation);
        let gradients = found(&timeline, "end of backward", Category::Gradient);
        let states = found(&timeline, "end of step", Category::OptimizerState);
        // Unless layers are drawn, each step is planned like the first.
        let draws = only.starts_with("layers");
        let mut plan = Value::Null;
        for step in 0..STEPS {
            let place = format!("{}, {only}, seed {seed}, step {}", self.model, step + 1);
            if draws || step == 0 {
                plan = self.planned(only, seed, step + 1);
            }
            let expected: ByLayer = serde_json::from_value(plan["saved_for_backward"].clone()).expect("bytes by layer");
            assert_eq!(saved[step], expected, "{place}");
            assert_eq!(plan["part"]["saved"], saved[step].values().sum::<u64>(), "{place}");
            let learning = plan["learning"].as_array().expect("layers");
            let mut learning: Vec<&str> = learning.iter().filter_map(Value::as_str).collect();
            learning.sort_unstable();
            assert!(!learning.is_empty(), "{place}");
            let with_gradient: Vec<&str> = gradients[step].keys().map(String::as_str).collect();
            assert_eq!(with_gradient, learning, "{place}: what is frozen has no gradient");
            assert_eq!(plan["part"]["gradients"], gradients[step].values().sum::<u64>(), "{place}");
            assert_eq!(plan["part"]["optimizer_state"], states[step].values().sum::<u64>(), "{place}");
        }
        saved.iter().map(|layers| layers.values().sum()).collect()
    }
}

/// Requested bytes of a category at each mark of this name, by layer.
fn found(timeline: &Timeline, mark: &str, category: Category) -> Vec<ByLayer> {
    let found: Vec<ByLayer> = tables(timeline, mark).map(|table| by_layer(timeline, table, category, None)).collect();
    assert_eq!(found.len(), STEPS, "{mark}");
    found
}

/// From the last layer alone to all of them: 850, 11,014, 59,134, 61,550 and 61,706 parameters.
#[test]
fn the_last_layers_of_lenet5() {
    let mut before = 0;
    for count in 1..=5 {
        let saved = LENET5.check(&format!("last:{count}"), "1");
        assert!(saved.iter().all(|&bytes| bytes == saved[0]), "last:{count}: {saved:?}");
        assert!(saved[0] > before, "last:{count}: the more learns, the more is saved");
        before = saved[0];
    }
}

/// The head alone; the last block's second half; a block behind a shortcut with a projection; all but the stem.
#[test]
fn the_last_layers_of_resnet18() {
    for only in ["last:1", "last:3", "last:12", "last:39"] {
        RESNET18.check(only, "1");
    }
}

/// The head alone; two layers of a depthwise pair; all but the first two layers.
#[test]
fn the_last_layers_of_mobilenet_v1() {
    for only in ["last:1", "last:4", "last:5", "last:53"] {
        MOBILENET_V1.check(only, "1");
    }
}

/// Of LSTM each number of layers; of BERT the head, what stands behind the last attention, its values, keys and queries one by one,
/// and all but two of the tables; of the GRU decoder and encoder one by one.
#[test]
fn the_last_layers_of_language_models() {
    for only in ["last:1", "last:2", "last:3"] {
        LSTM.check(only, "1");
    }
    for only in ["last:1", "last:6", "last:8", "last:9", "last:10", "last:20"] {
        BERT.check(only, "1");
    }
    for only in ["last:1", "last:3", "last:4", "last:5"] {
        SEQ2SEQ.check(only, "1");
    }
}

/// Each step draws other layers, and the plan knows which: frozen convolutions, norms, recurrent layers and products of maps lie
/// before, between and behind those that learn.
#[test]
fn drawn_layers() {
    for seed in ["1", "2"] {
        LENET5.check("layers:0.4", seed);
        LSTM.check("layers:0.34", seed);
        SEQ2SEQ.check("layers:0.2", seed);
        BERT.check("layers:0.1", seed);
    }
    for case in [RESNET18, MOBILENET_V1] {
        let saved = case.check("layers:0.1", "1");
        assert!(saved.iter().any(|&bytes| bytes != saved[0]), "{}: other layers, other bytes: {saved:?}", case.model);
    }
}

/// A part of each layer's filters: all is saved, and the gradients are whole.
#[test]
fn filters_save_nothing() {
    for case in [LENET5, RESNET18, MOBILENET_V1, LSTM, SEQ2SEQ, BERT] {
        assert_eq!(case.check("filters:0.25", "1"), case.check("all", "1"), "{}", case.model);
    }
}
