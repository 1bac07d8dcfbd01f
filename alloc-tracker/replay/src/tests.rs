//! Whatever happens to blocks, the sums hold: a property of the replay with everything that it counts.
use std::path::Path;

use alloc_timeline::{Assembler, Category, Dimension, Flow, Record, Sums};
use proptest::prelude::*;

use crate::accounts::Account;
use crate::amount::Amount;
use crate::counts::{BlockSize, Counts};
use crate::event::Event;
use crate::group::{Group, GroupKey};
use crate::names::NameTable;
use crate::replay::Replay;
use crate::scope::{Parts, ScopeId, ScopeNames};

/// Two layers in two phases, with and without an operator.
fn scopes(names: &mut NameTable) -> Vec<ScopeId> {
    let mut name = |kind: &str, number: usize| if number == 0 { 0 } else { names.name(&format!("{kind} {number}")) };
    let mut parts = |number: usize| Parts {
        phase: name("phase", number % 3),
        layer: name("layer", number / 3 % 2),
        op: name("op", number / 6),
    };
    let parts: Vec<Parts> = (0..12).map(&mut parts).collect();
    parts.into_iter().map(|parts| names.scope(parts)).collect()
}

/// Something that a program does; blocks are named by their place among forty addresses, scopes by their place in
/// [`scopes`].
#[derive(Clone, Debug)]
enum Action {
    Allocate { place: u64, scope: usize, bytes: u64, category: Option<Category> },
    Free { place: u64, scope: Option<usize>, op_call: u64 },
    Resize { from: u64, to: u64, bytes: u64, leaves: bool },
    Label { place: u64, scope: usize, category: Category },
    Read { place: u64, scope: usize },
    Batch { scope: usize, bytes: u64 },
    Step(bool),
    LeavePhase(usize),
    Pause(bool),
}

fn category() -> impl Strategy<Value = Category> {
    (0..Category::ALL.len()).prop_map(|number| Category::ALL[number])
}

fn action() -> impl Strategy<Value = Action> {
    let bytes = 1u64..1 << 30;
    prop_oneof![
        4 => (0..40u64, 0..12usize, bytes.clone(), prop::option::of(category()))
            .prop_map(|(place, scope, bytes, category)| Action::Allocate { place, scope, bytes, category }),
        4 => (0..40u64, prop::option::of(0..12usize), 0..3u64)
            .prop_map(|(place, scope, op_call)| Action::Free { place, scope, op_call }),
        2 => (0..40u64, 0..40u64, bytes.clone(), any::<bool>())
            .prop_map(|(from, to, bytes, leaves)| Action::Resize { from, to, bytes, leaves }),
        1 => (0..40u64, 0..12usize, category())
            .prop_map(|(place, scope, category)| Action::Label { place, scope, category }),
        3 => (0..40u64, 0..12usize).prop_map(|(place, scope)| Action::Read { place, scope }),
        1 => (0..12usize, bytes).prop_map(|(scope, bytes)| Action::Batch { scope, bytes }),
        1 => any::<bool>().prop_map(Action::Step),
        1 => (0..3usize).prop_map(Action::LeavePhase),
        1 => any::<bool>().prop_map(Action::Pause),
    ]
}

/// A replay of what a program could have done.
struct Program {
    replay: Replay,
    scopes: Vec<ScopeId>,
    /// Scope and size of the block at each of forty addresses.
    live: [Option<(ScopeId, BlockSize)>; 40],
    /// What was counted in batches.
    batched: i64,
    /// What each scope did, by the totals.
    counts: Vec<Counts>,
    number: u64,
}

fn address(place: u64) -> u64 {
    (place + 1) * 4096
}

fn size(bytes: u64) -> BlockSize {
    BlockSize { usable: bytes, requested: bytes - 1 }
}

impl Program {
    fn new() -> Self {
        let mut names = NameTable::new();
        let scopes = scopes(&mut names);
        let counts = vec![Counts::default(); names.scope_count()];
        Program { replay: Replay::new(1, names), scopes, live: [const { None }; 40], batched: 0, counts, number: 0 }
    }

    fn tell(&mut self, event: Event) {
        self.number += 1;
        let add = |scope: ScopeId, counts| self.counts[usize::from(scope)] += counts;
        self.replay.apply(self.number, self.number * 1_000, &event, add);
    }

    fn does(&mut self, action: &Action) {
        match *action {
            Action::Allocate { place, scope, bytes, category } if self.live[place as usize].is_none() => {
                let (scope, size, op_call) = (self.scopes[scope], size(bytes), bytes % 3);
                self.tell(Event::Allocated { scope, address: address(place), size, op_call, category });
                self.live[place as usize] = Some((scope, size));
            }
            Action::Free { place, scope: active, op_call } => {
                if let Some((scope, size)) = self.live[place as usize].take() {
                    let freed_in = active.map(|active| self.scopes[active]);
                    self.tell(Event::Freed { scope, address: address(place), size, op_call, freed_in });
                }
            }
            Action::Resize { from, to, bytes, leaves } if from == to || self.live[to as usize].is_none() => {
                if let Some((scope, before)) = self.live[from as usize].take() {
                    self.tell(Event::ResizeBegan { scope, address: address(from), size: before, token: 7 });
                    let to_address = (!leaves).then_some(address(to));
                    self.tell(Event::ResizeEnded { address: to_address, size: size(bytes), token: 7 });
                    self.live[to as usize] = (!leaves).then_some((scope, size(bytes)));
                }
            }
            Action::Label { place, scope, category } => {
                if let Some((owner, _)) = &mut self.live[place as usize] {
                    *owner = self.scopes[scope];
                    let scope = *owner;
                    self.tell(Event::Labelled { scope, address: address(place), category });
                }
            }
            Action::Read { place, scope } => {
                self.tell(Event::Read { scope: self.scopes[scope], addresses: [address(place), 0, 0, 0, 0] });
            }
            Action::Batch { scope, bytes } => {
                self.batched += bytes as i64;
                self.tell(Event::Batch { scope: self.scopes[scope], counts: Counts::allocation(size(bytes)) });
            }
            Action::Step(true) => self.tell(Event::StepBegan),
            Action::Step(false) => self.tell(Event::StepEnded),
            Action::LeavePhase(scope) => {
                let phase = self.replay.names().parts(self.scopes[scope]).phase;
                self.tell(Event::PhaseLeft { phase });
            }
            Action::Pause(true) => self.tell(Event::Paused),
            Action::Pause(false) => self.tell(Event::Resumed),
            Action::Allocate { .. } | Action::Resize { .. } => {}
        }
    }
}

/// The tracker keeps its replay in a static, and whichever thread reads the events touches it.
#[test]
fn a_replay_can_be_sent() {
    fn is_send(_: impl Send) {}
    is_send(Replay::new(0, NameTable::new()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_sums_hold(actions in prop::collection::vec(action(), 0..200)) {
        let mut program = Program::new();
        actions.iter().for_each(|action| program.does(action));
        let Program { replay, live, number, counts, batched, .. } = program;
        let Replay { owners, blocks: _, .. } = &replay;

        let followed: i64 = live.iter().flatten().map(|(_, size)| size.usable as i64).sum();
        let held = followed + batched;
        let sum = |of: fn(&Account) -> Amount| owners.accounts.all().iter().map(|account| of(account).usable).sum::<i64>();
        prop_assert_eq!(owners.peaks.live().usable, held);
        prop_assert_eq!(counts.iter().map(Counts::live).sum::<i64>(), held, "the totals count the same");
        prop_assert_eq!(sum(Account::live), held);
        prop_assert_eq!(sum(|account| account.followed), followed, "every live block is followed");
        prop_assert_eq!(owners.groups.process().categories.iter().sum::<i64>(), held);
        prop_assert_eq!(owners.groups.process().phases.iter().sum::<i64>(), held);
        let groups = |is: &dyn Fn(&Group) -> bool| {
            owners.groups.all().iter().filter(|group| is(group)).map(|group| group.live.usable).sum::<i64>()
        };
        for dimension in Dimension::ALL {
            let named = groups(&|group| matches!(group.key, GroupKey::Named(of, _) if of == dimension));
            prop_assert_eq!(named, held, "{}", dimension);
        }
        prop_assert_eq!(groups(&|group| matches!(group.key, GroupKey::Place { .. })), held);

        let analysis = replay.analysis(number * 1_000, &counts);
        let flows: Sums = analysis.flows.iter().map(Flow::sums).collect();
        prop_assert_eq!(flows.usable_bytes, analysis.coverage.bytes - analysis.coverage.shrunk_bytes);
        prop_assert_eq!(flows.blocks, analysis.coverage.blocks);
        let paused = replay.is_paused() || actions.iter().any(|action| matches!(action, Action::Pause(_)));
        for figures in &analysis.figures {
            prop_assert!(figures.retained_bytes <= figures.peak_bytes || paused);
        }
        if let Some(unread) = replay.unread() {
            prop_assert!(unread.prompt_peak_bytes <= unread.live_bytes);
        }
        // A reader checks the sums of histograms, figures, growth and reads.
        let mut assembler = Assembler::new();
        let scopes = replay.names().scope_count() as ScopeId;
        (0..scopes).for_each(|scope| assembler.apply(Record::Scope(replay.names().describe(scope))));
        for record in replay.closing_records(number * 1_000, &counts, 0, 0) {
            assembler.apply(record);
        }
        let mut bytes = Vec::new();
        alloc_timeline::encode(&assembler.timeline(), &mut bytes).expect("memory");
        let read = alloc_timeline::parse(&bytes, Path::new("x"));
        prop_assert!(read.is_ok(), "{:?}", read.err());
    }
}
