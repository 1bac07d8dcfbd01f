//! Training steps that take less memory: a batch in parts, another layout, another activation; and which of them to change first.
use crate::common::{ByLayer, by_layer, refused, small_data, tables, text, trainer};
use alloc_timeline::{Category, Timeline};
use serde_json::Value;

/// A recorded run of three steps on eight images: its losses, and its timeline.
#[track_caller]
fn run(more: &[&str]) -> (Vec<f64>, Timeline) {
    let (data, folder) = (small_data(8), tempfile::tempdir().expect("a folder"));
    let out = folder.path().join("a.timeline.json");
    let args = ["train", "--image-size", "33", "--steps", "3", "--threads", "1", "--json-times", "--out", text(&out)];
    let ran = trainer(&[&args[..], &["--data", text(data.path())], more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said: Value = serde_json::from_str(&ran.stdout).expect("one line of JSON");
    let losses = said["loss"].as_array().expect("a list").iter().map(|loss| loss.as_f64().expect("a number")).collect();
    (losses, alloc_timeline::load(&out).expect("whole"))
}

/// Requested bytes of a category by layer, at the last mark of this name.
fn at(timeline: &Timeline, mark: &str, category: Category) -> ByLayer {
    let table = tables(timeline, mark).last().expect("a mark");
    by_layer(timeline, table, category, None)
}

#[track_caller]
fn are_near(found: &[f64], expected: &[f64]) {
    let near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-3 * other.abs());
    assert!(found.len() == expected.len() && near, "{found:?} and not {expected:?}");
}

/// Of eight images in four parts, two run at once: what is saved for the backward pass is that of two, to the byte. LeNet-5 has no batch
/// norm, so what it learns is what it learns of all eight: three steps, of which the later ones see what the first has learned.
#[test]
fn a_batch_in_parts_saves_the_maps_of_one_part() {
    let model = ["--model", "lenet5"];
    let (whole, _) = run(&[&model[..], &["--batch", "8"]].concat());
    let (parts, timeline) = run(&[&model[..], &["--batch", "8", "--accumulate", "4"]].concat());
    are_near(&parts, &whole);
    let (_, two) = run(&[&model[..], &["--batch", "2"]].concat());
    let saved = |timeline| at(timeline, "end of forward", Category::Activation);
    assert!(saved(&two).values().sum::<u64>() > 0);
    assert_eq!(saved(&timeline), saved(&two));
    // The gradients of the parts before are there, which one part alone does not have.
    let gradients = |timeline| at(timeline, "end of forward", Category::Gradient).values().sum::<u64>();
    assert_eq!((gradients(&timeline), gradients(&two)), ((61_706 + 990 * 85) * 4, 0));
    assert_eq!((timeline.run["accumulate"].clone(), timeline.steps.len()), (4.into(), 3));
}

/// The same numbers in another order in memory: the same losses, and as many bytes of parameters, each of its layer.
#[test]
fn channels_last_learns_the_same() {
    let model = ["--model", "resnet18", "--batch", "2"];
    let (first, plain) = run(&model);
    let (last, timeline) = run(&[&model[..], &["--layout", "channels-last"]].concat());
    are_near(&last[..1], &first[..1]);
    let parameters = |timeline| at(timeline, "end of step", Category::Parameter);
    assert_eq!(parameters(&timeline), parameters(&plain));
    assert_eq!(timeline.run["layout"], "channels-last");
}

/// Autograd copies the input of a ReLU6 in place, and of a ReLU nothing that the next layer does not keep: conv1's map of two images has
/// 2 x 64 x 17 x 17 values, and is copied in the layer `relu`.
#[test]
fn relu6_copies_what_it_reads() {
    let (_, timeline) = run(&["--model", "resnet18", "--batch", "2", "--activation", "relu6"]);
    let saved = at(&timeline, "end of forward", Category::Activation);
    assert_eq!(saved.get("relu"), Some(&(2 * 64 * 17 * 17 * 4)), "{saved:?}");
    assert_eq!(timeline.run["activation"], "relu6");
}

/// What is typed by somebody with a small device. Every change is there with numbers, by layer, and in its order.
#[test]
fn what_to_change_first() {
    let data = small_data(8);
    let args = ["advise", "--model", "lenet5", "--batch", "4", "--image-size", "33", "--steps", "2", "--threads", "1"];
    let ask = |more: &[&str]| {
        let ran = trainer(&[&args[..], &["--data", text(data.path())], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran
    };
    let answer: Value = serde_json::from_str(&ask(&["--repeat", "2", "--json"]).stdout).expect("one JSON object");
    let changes = answer["changes"].as_array().expect("a list");
    let names: Vec<&str> = changes.iter().map(|change| change["change"].as_str().expect("a name")).collect();
    for name in ["--accumulate 2", "--checkpoint sequential", "--layout channels-last", "--precision bf16"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(answer["not_run"], Value::Array(Vec::new()));
    let of = |name: &str| changes.iter().find(|change| change["change"] == name).expect("it ran");
    // Without momentum there is no state: 145,856 parameters of 4 bytes. Blocks round to at most a quarter more; the peak may be of another
    // instant, and what is not a tensor's differs from run to run.
    let state = 145_856.0 * 4.0;
    let saved = of("--optimizer sgd --momentum 0")["saved_bytes"].as_f64().expect("bytes");
    assert!((0.9 * state..1.3 * state).contains(&saved), "{saved}");
    let place = |name: &str| names.iter().position(|found| *found == name);
    assert!(place("--optimizer sgd --momentum 0") < place("--activation relu6"), "{names:?}");

    let ran = ask(&["--repeat", "1"]);
    let expected = ["change", "for a lost ms", "lenet5, training, batch 4", "1 runs each, in turns"];
    expected.iter().for_each(|part| assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout));
    assert!(ran.stderr.contains("as it is: "), "{}", ran.stderr);
}

/// Each refusal says what to type instead.
#[test]
fn what_cannot_be() {
    let data = small_data(8);
    let train = |more: &[&str]| {
        let args = ["train", "--batch", "8", "--data", text(data.path()), "--track", "off"];
        trainer(&[&args[..], more].concat())
    };
    let lenet5 = ["--model", "lenet5", "--image-size", "32"];
    refused(
        &train(&[&lenet5[..], &["--accumulate", "3"]].concat()),
        &["a batch of 8 has no 3 equal parts", "give a number that divides it"],
    );
    refused(&train(&[&lenet5[..], &["--accumulate", "0"]].concat()), &["0 is not in 1.."]);
    refused(
        &train(&["--model", "resnet18", "--image-size", "32", "--accumulate", "8"]),
        &["--accumulate 8: of a batch of 8, 1 run at once", "one value"],
    );
    refused(
        &train(&[&lenet5[..], &["--accumulate", "2", "--checkpoint", "sequential:2"]].concat()),
        &[
            "--accumulate 2: a plan of checkpoints is for all of a network as it is",
            "leave --checkpoint and --budget out",
        ],
    );
    refused(&train(&["--model", "lstm", "--layout", "channels-last"]), &["images have channels, and lstm reads texts"]);
    refused(&train(&["--model", "lstm", "--activation", "relu6"]), &["lstm has neither ReLU nor ReLU6"]);
    refused(&train(&["--model", "dqn", "--accumulate", "2"]), &["only networks that tell classes apart"]);
    refused(&trainer(&["advise", "--model", "dcgan"]), &["advise: only networks that tell classes apart"]);
}
