//! What a recording does on a tick, and at its end.
//!
//! ```text
//! read ---> is anything new? --yes--> sample: the coarse book, the replay's news, summary, analysis, then a book if one is due
//!                 \---------no------> pass: a look as between two ticks
//! ```
use alloc_replay::SessionPeak;
use alloc_timeline::{Ending, Mark, Record};

use super::background::Job;
use super::metering::Metering;
use super::output::Output;
use super::recording::{Recording, is_counting};
use super::state::{drain, with_replay, with_state};
use super::{closing, counts, summary};
use crate::event::ring;
use crate::probe::Readings;
use crate::probe::spent::{self, Probe};
use crate::{settings, sys};

impl Recording {
    /// One tick: takes a sample and records it with everything that is new, if anything is.
    pub fn tick(&mut self) {
        let began = self.clock.now_ns();
        drain();
        self.tick_cost.begins();
        let (readings, is_news) = self.read();
        if is_news || self.schedule.sample_is_due() {
            self.sample(readings, is_news)
        } else {
            self.pass(began)
        }
        self.tick_cost.ends();
    }

    /// Reads what is read on every tick. Returns it, and whether it is anything new.
    fn read(&mut self) -> (Readings, bool) {
        // What the probes count needs the ledger's totals, which are whole only when the events in the ring have been read.
        with_replay(|replay| replay.tell_new_blocks(self.probes.new_blocks()));
        let mut readings = self.probes.read();
        let now = self.clock.now_ns();
        if let Some((_, Some(rss))) = readings.first() {
            self.rss.push(self.clock.since_start(now), *rss);
        }
        let is_same = self.quiet.sees(ring::places_read(), &readings);
        let others = self.metering.iter_mut().flat_map(Metering::tick).chain(self.children.tick(now, &self.background));
        let known = readings.len();
        readings.extend(others);
        let is_news = !is_same || readings.len() > known;
        (readings, is_news)
    }

    /// A tick at which nothing is new. It began at the clock's time `began`.
    fn pass(&mut self, began: u64) {
        // A pause has no samples.
        if is_counting() {
            self.quiet.passes(self.clock.since_start(began));
        }
        self.schedule.tick_is_over();
        self.look();
        self.output.flush();
        self.stacks.tick();
    }

    /// Takes a sample with these readings, and records it with everything that is new since the one before.
    fn sample(&mut self, mut readings: Readings, is_news: bool) {
        self.quiet.ends(is_news).into_iter().for_each(|sample| self.output.record(Record::Changes(sample)));
        readings.extend(self.probes.read_more(self.schedule.ticks(), self.books.survey()));
        let now = self.clock.now_ns();
        let session_ns = self.clock.since_start(now);
        let summary_is_due = self.schedule.summary_is_due();
        let (times_are_due, analysis_is_due) = (self.schedule.times_are_due(), self.schedule.analysis_is_due());
        let slack_bytes = counts::slack_bytes();
        let written = self.peak;
        let news = with_replay(|replay| {
            // The coarse book's line for the allocator is what that holds beyond these live bytes.
            readings.extend(self.probes.coarse_book(replay.live_bytes()));
            let sample = replay.take_sample(session_ns, readings);
            let peak = replay.session_peak();
            // The replay may have learned more about the blocks of a peak since it was recorded. Such a correction is
            // recorded less often than a new peak.
            let amended = summary_is_due && replay.take_peak_amended();
            News {
                sample,
                events: replay.take_records(slack_bytes),
                fresh_peak: (amended || peak != written).then(|| (peak, replay.snapshot_peak(slack_bytes))),
                summary: if summary_is_due { summary::records(replay) } else { Vec::new() },
                analysis: analysis_is_due.then(|| replay.analysis(now, &counts::by_scope())),
                unread: if analysis_is_due { replay.unread() } else { None },
            }
        });
        let Some(News { sample, events, fresh_peak, summary, analysis, unread }) = news else { return };
        self.schedule.tick_is_over();
        self.pace.look(self.clock.now_ns());
        let steps: Vec<Record> = self.metering.iter().flat_map(Metering::ended_steps).collect();
        self.write_new_scopes();
        steps.into_iter().for_each(|step| self.output.record(step));
        events.into_iter().for_each(|record| self.record_replayed(record));
        let live = sample.as_ref().map(|sample| sample.live_bytes);
        // Where stderr takes no line, nothing but the files themselves say it.
        let say = |line: String| {
            let _ = self.probes.calls().run(move || sys::say(&line));
        };
        if let Some(aside) = self.output.take_set_aside() {
            say(format!("alloc-tracker: the log of an earlier run that was killed is now {}", aside.display()));
        }
        if let Some(live_bytes) = live
            && let Some(name) = self.full_table.look(say)
        {
            let now = self.clock.now_ns();
            let time_ns = self.clock.since_start(now);
            self.output.record(Record::Mark(Mark { time_ns, name, live_bytes, snapshot: None }));
        }
        // The peak comes before the sample, so that a log that ends between the two has no sample above its peak.
        if let Some((peak, snapshot)) = fresh_peak {
            self.rss.at(self.clock.since_start(snapshot.time_ns));
            self.record_replayed(Record::Peak(snapshot));
            self.books.peak_is(peak.live_bytes.max(0) as u64, self.clock.latest_ns());
            self.peak = peak;
        }
        self.books.keep_surveyed(now, &self.background);
        if let Some(sample) = sample {
            self.quiet.sampled(&sample);
            self.output.record(Record::Changes(sample));
        }
        // What follows takes longer, and the process may be killed meanwhile: the sample must be safe first.
        self.output.flush();
        live.into_iter().for_each(|live| self.look_for_book(live));
        summary.into_iter().for_each(|record| self.record_replayed(record));
        analysis.into_iter().for_each(|analysis| self.record_replayed(Record::Analysis(Box::new(analysis))));
        unread.into_iter().for_each(|unread| self.record_replayed(Record::Unread(Box::new(unread))));
        // Times by scope are wanted of a run that is killed as well, and rarely recorded ones would be old by then.
        let usage_is_due = analysis_is_due && spent::fits_into_all(Probe::Closing, now);
        if usage_is_due || (times_are_due && self.metering.is_some()) {
            self.utilisation().into_iter().for_each(|record| self.output.record(record));
        }
        self.output.flush();
        if let Some(compaction) = self.output.compaction() {
            self.background.ask(Job::Compact(compaction));
        }
        self.take_background_work();
        self.stacks.tick();
    }

    /// Ends the recording: records what is left, and the last records. Returns the output, which the caller finishes.
    pub fn end(mut self, ending: Ending) -> Output {
        // First: what other threads allocate and free from now on is in no event, and the sums of the scopes know it.
        let now = self.clock.now_ns();
        with_replay(|replay| {
            let counts = counts::by_scope();
            replay.reconcile_at_end(|scope| counts.get(usize::from(scope)).copied().unwrap_or_default(), now);
        });
        let (readings, is_news) = self.read();
        self.sample(readings, is_news);
        self.books.explain_at_end().into_iter().for_each(|book| self.record_book(book));
        while self.books.awaits_first() || self.beyond.awaits_first() {
            match self.background.wait() {
                Some(done) => self.take(done),
                None => break,
            }
        }
        let last = self.beyond.read_at_end(self.clock.now_ns());
        last.into_iter().for_each(|book| self.output.record(Record::Book(book)));
        let now = self.clock.now_ns();
        let Some(mut replay) = with_state(Option::take) else { return self.output };
        self.write_new_scopes();
        replay.take_records(counts::slack_bytes()).into_iter().for_each(|record| self.record_replayed(record));
        let stacks = self.stacks.named(|| replay.site_table(), true, &mut self.output);
        self.stacks.keep();
        stacks.into_iter().for_each(|stacks| self.output.record(stacks));
        let replayed = closing::replayed(&replay, now, &self.clock);
        drop(replay);
        if let Some(path) = settings::gpu_inputs()
            && let Err(error) = std::fs::write(&path, self.probes.device_inputs())
        {
            self.output.lose(format!("ALLOC_TRACKER_GPU_INPUTS: {} cannot be written: {error}", path.display()));
        }
        self.close(replayed, now, ending, Output::record);
        self.output
    }
}

/// What a tick gets from the replay.
struct News {
    sample: Option<alloc_timeline::Sample>,
    /// Records of marks and steps.
    events: Vec<Record>,
    /// The peak, when it is new or better known.
    fresh_peak: Option<(SessionPeak, alloc_timeline::Snapshot)>,
    summary: Vec<Record>,
    analysis: Option<alloc_timeline::Analysis>,
    unread: Option<alloc_timeline::Unread>,
}
