//! What a replay tells: samples, snapshots, and the records that end a file.
use std::borrow::Cow;

use alloc_timeline::{Analysis, DeviceMemory, HighWater, PeakRequested, Record, Sample, Snapshot, Sums, Unread};

use crate::accounts::Account;
use crate::amount::positive;
use crate::counts::Counts;
use crate::high_water::Span;
use crate::new_blocks::NewBlocks;
use crate::peaks::Extremes;
use crate::records::{analysis, devices, figures, rows, totals, unread};
use crate::replay::Replay;
use crate::site_table::SiteTable;

/// Which event reached the session's peak, and how high that is. It differs from the one before whenever there is a new
/// peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPeak {
    /// Number of the event.
    pub event: u64,
    /// Usable bytes that were live then.
    pub live_bytes: i64,
}

impl Replay {
    /// What is different now from the sample before; begins a new interval. `None` while the recording is paused: the
    /// next sample after that says what changed in the pause. `time_ns` and `probes` go into the sample as they are.
    pub fn take_sample(&mut self, time_ns: u64, probes: Vec<(Cow<'static, str>, Option<u64>)>) -> Option<Sample> {
        if self.is_paused() {
            return None;
        }
        let (rows, sums) = self.owners.accounts.take_changes();
        let (live_bytes, requested_bytes) = (sums.usable, sums.requested);
        let high_bytes = positive(self.owners.peaks.take_sample_high()).max(live_bytes);
        Some(Sample { time_ns, live_bytes, requested_bytes, high_bytes, rows, probes })
    }

    /// What there is to see for those who wait for a number of bytes; begins a new interval. `time_ns` goes into it as it
    /// is.
    pub fn take_extremes(&mut self, time_ns: u64) -> Extremes {
        let peaks = &mut self.owners.peaks;
        let step_high = positive(peaks.marks().of(Span::Step).usable);
        let step = self.steps.open().map(|step| (step.index, step_high));
        let last_step_peak = self.steps.last_peak().map(positive);
        Extremes { step, last_step_peak, ..peaks.take_extremes(time_ns) }
    }

    /// Adds to `told` where followed blocks were allocated since this was last asked.
    pub fn tell_new_blocks(&mut self, told: &mut NewBlocks) {
        told.append(&mut self.new_blocks);
    }

    /// The marks and steps since this was last asked, in their order. `slack_bytes` goes into the marks' snapshots.
    pub fn take_records(&mut self, slack_bytes: u64) -> Vec<Record> {
        let mut records = std::mem::take(&mut self.records);
        for record in &mut records {
            if let Record::Mark(mark) = record
                && let Some(snapshot) = &mut mark.snapshot
            {
                snapshot.slack_bytes = slack_bytes;
            }
        }
        records
    }

    /// Whether blocks of the session's peak were given another owner or category since this was last asked.
    pub fn take_peak_amended(&mut self) -> bool {
        self.owners.take_peak_amended()
    }

    /// The session's peak.
    pub fn session_peak(&self) -> SessionPeak {
        let mark = self.owners.peaks.marks().of(Span::Session);
        SessionPeak { event: mark.event, live_bytes: mark.usable }
    }

    /// Who owned what at the session's peak. The true sum may differ from the snapshot's by at most `slack_bytes`.
    pub fn snapshot_peak(&self, slack_bytes: u64) -> Snapshot {
        let marks = self.owners.peaks.marks();
        let at_peak = |account: &Account| account.at(Span::Session, marks);
        rows::snapshot(&self.owners.accounts, at_peak, marks.of(Span::Session).time_ns, slack_bytes)
    }

    /// Who owns what now. The true sum may differ from the snapshot's by at most `slack_bytes`.
    pub fn snapshot_now(&self, time_ns: u64, slack_bytes: u64) -> Snapshot {
        rows::snapshot(&self.owners.accounts, Account::live, time_ns, slack_bytes)
    }

    /// The sums of [`snapshot_now`](Self::snapshot_now), without its rows.
    pub fn live_sums(&self) -> Sums {
        rows::sums(&self.owners.accounts, Account::live)
    }

    /// The most requested bytes that were live at once.
    pub fn peak_requested(&self) -> PeakRequested {
        let peak = self.owners.peaks.requested();
        PeakRequested { time_ns: peak.time_ns, bytes: positive(peak.requested), blocks: positive(peak.blocks) }
    }

    /// The own peaks of phases, layers and operators.
    pub fn high_waters(&self) -> Vec<HighWater> {
        figures::high_waters(&self.owners.groups, self.names())
    }

    /// What became of the blocks so far. `counts` is what each scope has done since the process began.
    pub fn analysis(&self, time_ns: u64, counts: &[Counts]) -> Analysis {
        analysis::analysis(&self.owners, &self.blocks.sums, &self.growth, counts, time_ns)
    }

    /// Which bytes of the session's peak nobody read again so far; `None` when nobody told of reads before the peak.
    pub fn unread(&self) -> Option<Unread> {
        let peak = self.owners.peaks.marks().of(Span::Session);
        unread::unread(&self.owners, &self.blocks, peak, &self.snapshot_peak(0))
    }

    /// What the caching allocators of devices told so far, a device each; nothing without such an event. The peaks' times
    /// are the clock's.
    pub fn device_memory(&self) -> Vec<DeviceMemory> {
        devices::device_memory(&self.device_blocks, self.names())
    }

    /// The records of devices and of tensors in shared memory, where somebody told of some.
    pub fn device_records(&self) -> Vec<Record> {
        let devices = Some(self.device_memory()).filter(|devices| !devices.is_empty()).map(Record::Devices);
        let shared = devices::shared_memory(&self.device_blocks, self.names()).map(Record::SharedMemory);
        devices.into_iter().chain(shared).collect()
    }

    /// Who allocates, by stack and by thread.
    pub fn site_table(&self) -> SiteTable {
        self.sites.table(self.owners.peaks.marks())
    }

    /// The records that end a file, whether the recording ends with it or goes on: the peaks, what is live now, the own
    /// peaks, the analysis and the totals, in this order, and what nobody read again, if that is known. `counts` is what each scope has done since the process began,
    /// `reallocations` how many blocks changed their size.
    pub fn closing_records(
        &self,
        time_ns: u64,
        counts: &[Counts],
        slack_bytes: u64,
        reallocations: u64,
    ) -> Vec<Record> {
        let mut records = vec![
            Record::Peak(self.snapshot_peak(slack_bytes)),
            Record::PeakRequested(self.peak_requested()),
            Record::AtExit(self.snapshot_now(time_ns, slack_bytes)),
            Record::HighWaters(self.high_waters()),
            Record::Analysis(Box::new(self.analysis(time_ns, counts))),
            Record::Totals(totals::totals(counts, reallocations)),
        ];
        let devices = self.device_records();
        // The models see the storages of the processor. Where a device is used, the tensors of the run are not among them.
        let is_used = devices.iter().any(|record| matches!(record, Record::Devices(_)));
        let predictions = self.blocks.devices.predictions();
        if !is_used && !predictions.is_empty() {
            records.push(Record::DevicePredictions(predictions));
        }
        records.extend(devices);
        records.extend(self.unread().map(|unread| Record::Unread(Box::new(unread))));
        records
    }
}
