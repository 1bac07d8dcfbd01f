//! What an assembler gives: the timeline so far, as a value, as a file, or as the fewest records.
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::analysis_text::AnalysisText;
use crate::assemble::Assembler;
use crate::columns::{WrittenSeries, readings_of, series};
use crate::derived_phase::DerivedPhase;
use crate::file::{AtExit, Ending, FORMAT_NAME, FORMAT_VERSION, OutsideFigure, Snapshot, Timeline, TrackerCost};
use crate::record::Record;
use crate::resident::{RSS, resident_set};
use crate::scope::Scope;
use crate::store::store_by;
use crate::unread::Unread;

impl Assembler {
    /// The timeline of all records so far. Without a [`Record::End`] its ending is [`Ending::Recovered`].
    /// What only the end of a recording tells is not known then; the resident set is that of the samples.
    pub fn timeline(self) -> Timeline {
        let series = series(&self.samples, &self.scopes, self.interval_ns);
        let lanes = self.outside_figures().into_owned();
        let scopes = Arc::unwrap_or_clone(self.scopes);
        Timeline {
            format: FORMAT_NAME.to_owned(),
            format_version: FORMAT_VERSION,
            ending: self.ending.unwrap_or(Ending::Recovered),
            duration_ns: self.duration_ns,
            series,
            run: self.run,
            machine: self.machine,
            allocator: self.allocator,
            interposition: self.interposition,
            derived_phases: derived_phases(&scopes),
            layer_kinds: self.layer_kinds,
            scopes,
            marks: self.marks.into(),
            steps: Arc::unwrap_or_clone(self.steps).into(),
            unread: self.unread.filter(|unread| unread.is_of(self.peak.time_ns, self.peak.live_bytes)),
            peak: self.peak,
            peak_requested: self.peak_requested,
            high_waters: self.high_waters,
            totals: self.totals,
            at_exit: self.at_exit.map(|snapshot| AtExit { snapshot }),
            book: self.book,
            mark_books: self.mark_books,
            near_limits: self.near_limits.into(),
            child_processes: self.child_processes,
            lanes,
            tracker: self.tracker.unwrap_or_default(),
            analysis: self.analysis.as_ref().and_then(AnalysisText::analysis),
            device_predictions: self.device_predictions,
            devices: self.devices,
            shared_memory: self.shared_memory,
            stacks: self.stacks,
            utilisation: self.utilisation,
            step_times: self.step_times.into_entries(),
            energy: self.energy,
        }
    }

    /// Stores the timeline so far, as [`store`](crate::store) does with that of [`Assembler::timeline`], and with a small part of the
    /// memory: see [`Assembler::encode`].
    ///
    /// # Errors
    /// As for [`store`](crate::store).
    pub fn store(&self, path: impl AsRef<Path>) -> io::Result<()> {
        store_by(path.as_ref(), |out| self.encode(out))
    }

    /// Writes the timeline so far, byte by byte as [`encode`](crate::encode) writes that of [`Assembler::timeline`]. The timeline is
    /// not made for that: all but some of its columns are written from where they are.
    ///
    /// # Errors
    /// When `out` has one.
    pub fn encode(&self, out: &mut impl Write) -> io::Result<()> {
        let Assembler { samples, scopes, interval_ns, .. } = self;
        let mut fields = Fields { out: &mut *out, before: "{" };
        fields.add("format", FORMAT_NAME)?;
        fields.add("format_version", &FORMAT_VERSION)?;
        fields.add("ending", &self.ending.unwrap_or(Ending::Recovered))?;
        fields.add("duration_ns", &self.duration_ns)?;
        fields.add("run", &self.run)?;
        fields.add("machine", &self.machine)?;
        fields.add("allocator", &self.allocator)?;
        fields.add("interposition", &self.interposition)?;
        fields.add("scopes", &**scopes)?;
        fields.add_all("derived_phases", &derived_phases(scopes))?;
        if !self.layer_kinds.is_empty() {
            fields.add("layer_kinds", &self.layer_kinds)?;
        }
        fields.add("series", &WrittenSeries { samples, scopes, interval_ns: *interval_ns })?;
        fields.add("marks", &self.marks)?;
        fields.add("steps", &*self.steps)?;
        fields.add("peak", &self.peak)?;
        fields.add_known("peak_requested", self.peak_requested.as_ref())?;
        fields.add("high_waters", &self.high_waters)?;
        fields.add("totals", &self.totals)?;
        fields.add("at_exit", &self.at_exit.as_ref().map(|snapshot| WrittenAtExit { snapshot }))?;
        fields.add("book", &self.book)?;
        fields.add_all("mark_books", &self.mark_books)?;
        if !self.near_limits.is_empty() {
            fields.add("near_limits", &self.near_limits)?;
        }
        fields.add_known("child_processes", self.child_processes.as_ref())?;
        fields.add("lanes", &*self.outside_figures())?;
        fields.add("tracker", self.tracker.as_ref().unwrap_or(&TrackerCost::default()))?;
        if let Some(analysis) = &self.analysis {
            fields.add_text("analysis", analysis.json())?;
        }
        fields.add_known("unread", self.unread_at_peak())?;
        fields.add_all("device_predictions", &self.device_predictions)?;
        fields.add_all("devices", &self.devices)?;
        fields.add_known("shared_memory", self.shared_memory.as_ref())?;
        fields.add_known("stacks", self.stacks.as_ref())?;
        fields.add_known("utilisation", self.utilisation.as_ref())?;
        fields.add_all("step_times", self.step_times.entries())?;
        fields.add_known("energy", self.energy.as_ref())?;
        out.write_all(b"}\n")
    }

    /// The most live bytes so far.
    pub fn peak_bytes(&self) -> u64 {
        self.peak.live_bytes
    }

    /// The fewest records that give the same timeline: a log in its shortest form.
    pub fn records(&self) -> Vec<Record> {
        let mut records = vec![Record::Start {
            format_version: FORMAT_VERSION,
            run: self.run.clone(),
            machine: self.machine.clone(),
            allocator: self.allocator.clone(),
            interval_ns: self.interval_ns,
        }];
        records.extend(self.interposition.iter().cloned().map(Record::Resolution));
        records.extend(self.scopes.iter().cloned().map(Record::Scope));
        let kinds = self.layer_kinds.iter().map(|(layer, kind)| (layer.clone(), kind.clone()));
        records.extend(kinds.map(|(layer, kind)| Record::LayerKind { layer, kind }));
        records.extend(self.samples.records());
        records.extend(self.marks.iter().cloned().map(Record::Mark));
        records.extend(self.steps.iter().cloned().map(Record::Step));
        records.push(Record::Peak(self.peak.clone()));
        records.extend(self.peak_requested.map(Record::PeakRequested));
        records.extend(self.book.iter().cloned().map(Record::Book));
        records.extend(self.mark_books.iter().cloned().map(Record::MarkBook));
        records.extend(self.near_limits.iter().cloned().map(Record::NearLimit));
        records.extend(self.child_processes.iter().cloned().map(Record::ChildProcesses));
        records.push(Record::HighWaters(self.high_waters.clone()));
        records.push(Record::Totals(self.totals.clone()));
        records.extend(self.at_exit.iter().cloned().map(Record::AtExit));
        if !self.lanes.is_empty() {
            records.push(Record::OutsideFigures(self.lanes.clone()));
        }
        records.extend(self.tracker.iter().cloned().map(Record::Tracker));
        records.extend(
            self.analysis
                .iter()
                .filter_map(AnalysisText::analysis)
                .map(|analysis| Record::Analysis(Box::new(analysis))),
        );
        records.extend(self.unread.iter().cloned().map(|unread| Record::Unread(Box::new(unread))));
        if !self.device_predictions.is_empty() {
            records.push(Record::DevicePredictions(self.device_predictions.clone()));
        }
        if !self.devices.is_empty() {
            records.push(Record::Devices(self.devices.clone()));
        }
        records.extend(self.shared_memory.iter().cloned().map(Record::SharedMemory));
        records.extend(self.stacks.iter().cloned().map(|stacks| Record::Stacks(Box::new(stacks))));
        records.extend(self.utilisation.iter().cloned().map(|utilisation| Record::Utilisation(Box::new(utilisation))));
        let step_times = self.step_times.entries().iter().cloned();
        records.extend(step_times.map(|step| Record::StepTimes(Box::new(step))));
        records.extend(self.energy.iter().cloned().map(|energy| Record::Energy(Box::new(energy))));
        records.extend(self.ending.map(|ending| Record::End { time_ns: self.duration_ns, ending }));
        records
    }

    /// Which bytes of the peak nobody read again, if that is known of this peak.
    fn unread_at_peak(&self) -> Option<&Unread> {
        self.unread.as_ref().filter(|unread| unread.is_of(self.peak.time_ns, self.peak.live_bytes))
    }

    /// What others measured. Of a recording that did not reach its end that is the resident set of the samples.
    fn outside_figures(&self) -> Cow<'_, [OutsideFigure]> {
        if self.ending.is_some() || !self.lanes.is_empty() {
            return Cow::Borrowed(&self.lanes);
        }
        let resident = resident_set(&readings_of(RSS, &self.samples), self.peak.time_ns);
        Cow::Owned(resident.into_iter().collect())
    }
}

/// The derived phases among those of the scopes, each once.
fn derived_phases(scopes: &[Scope]) -> Vec<String> {
    let is_used = |phase: &DerivedPhase| scopes.iter().any(|scope| scope.phase == phase.name());
    DerivedPhase::ALL.into_iter().filter(is_used).map(|phase| phase.name().to_owned()).collect()
}

/// [`AtExit`] of a snapshot that stays where it is.
#[derive(Serialize)]
struct WrittenAtExit<'a> {
    snapshot: &'a Snapshot,
}

/// The fields of a JSON object, which are written one by one.
struct Fields<'a, W> {
    out: &'a mut W,
    /// What stands before the next field.
    before: &'static str,
}

impl<W: Write> Fields<'_, W> {
    /// Writes a field.
    fn add(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
        self.add_text(name, "")?;
        Ok(serde_json::to_writer(&mut *self.out, value)?)
    }

    /// Writes a field whose value is this JSON.
    fn add_text(&mut self, name: &str, json: &str) -> io::Result<()> {
        write!(self.out, "{}\"{name}\":{json}", self.before)?;
        self.before = ",";
        Ok(())
    }

    /// Writes a field, if it has a value.
    fn add_known(&mut self, name: &str, value: Option<&impl Serialize>) -> io::Result<()> {
        value.map_or(Ok(()), |value| self.add(name, value))
    }

    /// Writes a field, if there is anything in it.
    fn add_all(&mut self, name: &str, values: &[impl Serialize]) -> io::Result<()> {
        if values.is_empty() { Ok(()) } else { self.add(name, values) }
    }
}
