//! `viewer series`: live bytes over time, as a chart and as JSON.
use crate::common::{Folder, nets, viewer};
use serde_json::Value;

fn json(more: &[&str]) -> Value {
    let folder = Folder::new();
    let file = folder.store("stem.timeline.json", &nets::stem());
    let answer = viewer(&[&["series", &file, "--json"], more].concat());
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    serde_json::from_str(&answer.out).expect("JSON")
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().expect("a list").iter().map(|number| number.as_u64().expect("a number")).collect()
}

#[test]
fn bands_sum_to_the_live_bytes_and_reach_the_peak() {
    let peak = nets::stem().peak.live_bytes;
    for by in ["category", "phase", "layer", "op"] {
        let series = json(&["--by", by, "--top", "3", "--columns", "4"]);
        let (times, live) = (numbers(&series["time_ns"]), numbers(&series["live_bytes"]));
        assert_eq!((&series["dimension"], times.len()), (&Value::from(by), live.len()));
        assert!(times.len() <= 2 + 2 * 4, "each of four spans has two instants, besides the first and the last");
        assert!(times.is_sorted());
        assert_eq!(live.iter().max(), Some(&peak), "{by}");
        let bands = series["bands"].as_array().expect("bands");
        assert!(bands.len() <= 4, "three and the rest");
        let columns: Vec<Vec<u64>> = bands.iter().map(|band| numbers(&band["bytes"])).collect();
        for (place, live) in live.iter().enumerate() {
            assert_eq!(columns.iter().map(|column| column[place]).sum::<u64>(), *live, "{by}");
        }
    }
}

#[test]
fn steps_have_their_times() {
    let timeline = nets::stem();
    let steps = json(&[])["steps"].as_array().expect("steps").clone();
    assert_eq!(steps.len(), timeline.steps.len());
    for (told, step) in steps.iter().zip(&timeline.steps) {
        assert_eq!((told["index"].as_u64(), told["end_ns"].as_u64()), (Some(step.index), Some(step.end_ns)));
    }
}

#[test]
fn without_json_it_is_the_chart() {
    let folder = Folder::new();
    let file = folder.store("stem.timeline.json", &nets::stem());
    let answer = viewer(&["series", &file, "--by", "layer"]);
    assert!(answer.code == 0 && answer.out.contains("live bytes by layer"), "{answer:?}");
    let none = viewer(&["series", &file, "--json", "--columns", "0"]);
    assert!(none.code == 2 && none.err.contains("0 tells nothing"), "{none:?}");
}
