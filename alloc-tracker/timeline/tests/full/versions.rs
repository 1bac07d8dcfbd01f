//! The full timeline as recorders of earlier days wrote it, without what came later.
use alloc_timeline::Timeline;

use super::timeline;

/// The timeline of [`records`] as the first recorders wrote it, without an analysis.
pub fn first_timeline() -> Timeline {
    Timeline { analysis: None, ..second_timeline() }
}

/// The same as the next ones did, with usable bytes alone in some places.
pub fn second_timeline() -> Timeline {
    let mut timeline = Timeline { peak_requested: None, ..third_timeline() };
    for step in &mut timeline.steps {
        (step.requested_bytes, step.end_requested_bytes) = (None, None);
    }
    timeline.high_waters.iter_mut().for_each(|water| water.requested_bytes = None);
    timeline.totals.requested_bytes = None;
    timeline
}

/// The same with requested bytes as well, before there were stacks.
pub fn third_timeline() -> Timeline {
    Timeline { stacks: None, ..fourth_timeline() }
}

/// The same with stacks, when a book was lines alone and stood at the peak alone.
pub fn fourth_timeline() -> Timeline {
    let mut timeline = Timeline { mark_books: Vec::new(), ..fifth_timeline() };
    if let Some(book) = &mut timeline.book {
        book.beyond.clear();
        book.lines.iter_mut().for_each(|line| {
            line.source.clear();
            line.parts.clear();
        });
    }
    timeline
}

/// The same with the books' parts, when nobody told what operators read.
pub fn fifth_timeline() -> Timeline {
    Timeline { unread: None, ..sixth_timeline() }
}

/// The same with what nobody reads again, before anybody watched limits.
pub fn sixth_timeline() -> Timeline {
    Timeline { near_limits: Vec::new(), ..seventh_timeline() }
}

/// The same with limits, when nobody measured processors and energy.
pub fn seventh_timeline() -> Timeline {
    Timeline { utilisation: None, energy: None, ..eighth_timeline() }
}

/// The same with processors and energy, before a device's memory was modelled.
pub fn eighth_timeline() -> Timeline {
    Timeline { device_predictions: Vec::new(), ..ninth_timeline() }
}

/// The same with the model of a device, before a device's memory was measured.
pub fn ninth_timeline() -> Timeline {
    Timeline { devices: Vec::new(), ..tenth_timeline() }
}

/// The same with a device's memory, before the probes' own processor time was measured.
pub fn tenth_timeline() -> Timeline {
    let mut timeline = eleventh_timeline();
    timeline.tracker.probes_ns.clear();
    timeline
}

/// The same with the probes' own processor time, before times were kept step by step.
pub fn eleventh_timeline() -> Timeline {
    Timeline { step_times: Vec::new(), ..twelfth_timeline() }
}

/// The same with the times of steps, when phases and steps were those that the program named, and layers had names alone.
pub fn twelfth_timeline() -> Timeline {
    before_derived(derived_timeline())
}

/// The same of a log whose process was killed.
pub fn twelfth_recovered() -> Timeline {
    before_derived(before_threads(before_children(before_languages(before_moved(super::recovered())))))
}

fn before_derived(mut timeline: Timeline) -> Timeline {
    timeline.scopes.pop_if(|scope| timeline.derived_phases.contains(&scope.phase));
    timeline.steps.iter_mut().for_each(|step| step.derived = false);
    Timeline { derived_phases: Vec::new(), layer_kinds: Default::default(), ..timeline }
}

/// The same with phases, steps and kinds of layers that operators tell, before samples were kept by thread.
pub fn derived_timeline() -> Timeline {
    before_threads(threads_timeline())
}

/// The same with samples by thread, before child processes were looked at and tensors in shared memory told.
pub fn threads_timeline() -> Timeline {
    before_children(children_timeline())
}

/// The same with child processes and shared memory, when all calls were of native code.
pub fn children_timeline() -> Timeline {
    before_languages(languages_timeline())
}

/// The same with languages, when it was not said how many blocks labels had given to other scopes.
pub fn languages_timeline() -> Timeline {
    before_moved(timeline())
}

fn before_moved(mut timeline: Timeline) -> Timeline {
    timeline.totals.by_scope.iter_mut().for_each(|scope| scope.moved_in = 0);
    timeline
}

fn before_languages(mut timeline: Timeline) -> Timeline {
    timeline.stacks.iter_mut().flat_map(|stacks| &mut stacks.calls).for_each(|call| call.language = None);
    timeline
}

fn before_children(timeline: Timeline) -> Timeline {
    Timeline { child_processes: None, shared_memory: None, ..timeline }
}

fn before_threads(mut timeline: Timeline) -> Timeline {
    if let Some(stacks) = &mut timeline.stacks {
        (stacks.threads, stacks.other_threads) = Default::default();
    }
    timeline
}

/// The twelfth, when each call says in which file its code is.
pub fn with_objects() -> Timeline {
    let mut timeline = twelfth_timeline();
    for call in timeline.stacks.iter_mut().flat_map(|stacks| &mut stacks.calls) {
        let file = call.function.split_once('+').map_or("trainer", |(file, _)| file);
        call.object = Some(file.to_owned());
    }
    timeline
}
