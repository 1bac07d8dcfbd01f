//! Whatever happens to blocks, the sums hold: a property of the replay with everything that it counts.
use std::path::Path;

use alloc_timeline::{Assembler, Dimension, Flow, Record, Sums};
use proptest::prelude::*;

use super::account::{Account, Amount};
use super::extract;
use super::group::Key;
use super::replay::Replay;
use crate::event::{Event, Kind};
use crate::ledger::totals::Counts;
use crate::tag::scope::{self, Parts, ScopeId};

/// Two layers in two phases, with and without an operator.
fn scopes() -> Vec<ScopeId> {
    let name = |kind: &str, number: usize| if number == 0 { 0 } else { scope::name(&format!("{kind} {number}")) };
    let parts = |number: usize| Parts {
        phase: name("phase", number % 3),
        layer: name("layer", number / 3 % 2),
        op: name("op", number / 6),
    };
    (0..12).map(parts).map(scope::scope).collect()
}

#[derive(Clone, Debug)]
enum Deed {
    Allocate { place: u64, scope: usize, bytes: u64, storage: bool },
    Free { place: u64, scope: Option<usize>, call: u64 },
    Resize { from: u64, to: u64, bytes: u64, leaves: bool },
    Label { place: u64, scope: usize, category: u64 },
    Step(bool),
    Left(usize),
    Pause(bool),
}

fn deed() -> impl Strategy<Value = Deed> {
    let bytes = 1u64..1 << 30;
    prop_oneof![
        4 => (0..40u64, 0..12usize, bytes.clone(), any::<bool>())
            .prop_map(|(place, scope, bytes, storage)| Deed::Allocate { place, scope, bytes, storage }),
        4 => (0..40u64, prop::option::of(0..12usize), 0..3u64)
            .prop_map(|(place, scope, call)| Deed::Free { place, scope, call }),
        2 => (0..40u64, 0..40u64, bytes, any::<bool>())
            .prop_map(|(from, to, bytes, leaves)| Deed::Resize { from, to, bytes, leaves }),
        1 => (0..40u64, 0..12usize, 0..10u64).prop_map(|(place, scope, category)| Deed::Label { place, scope, category }),
        1 => any::<bool>().prop_map(Deed::Step),
        1 => (0..3usize).prop_map(Deed::Left),
        1 => any::<bool>().prop_map(Deed::Pause),
    ]
}

/// A replay of what a program could have done: blocks at forty addresses.
struct Program {
    replay: Replay,
    scopes: Vec<ScopeId>,
    live: [Option<(ScopeId, u64)>; 40],
    number: u64,
}

impl Program {
    fn tell(&mut self, event: Event) {
        self.number += 1;
        self.replay.apply(self.number, &Event { time_ns: self.number * 1_000, ..event });
    }

    fn does(&mut self, deed: &Deed) {
        let address = |place: u64| (place + 1) * 4096;
        let event = |kind, scope, place, bytes| Event {
            kind,
            scope,
            a: address(place),
            b: bytes,
            c: bytes - 1,
            ..Event::default()
        };
        match *deed {
            Deed::Allocate { place, scope, bytes, storage } if self.live[place as usize].is_none() => {
                let scope = self.scopes[scope];
                self.tell(Event { d: bytes % 3, e: storage.into(), ..event(Kind::Allocated, scope, place, bytes) });
                self.live[place as usize] = Some((scope, bytes));
            }
            Deed::Free { place, scope: active, call } => {
                if let Some((scope, bytes)) = self.live[place as usize].take() {
                    let e = active.map_or(0, |active| u64::from(self.scopes[active]) + 1);
                    self.tell(Event { d: call, e, ..event(Kind::Freed, scope, place, bytes) });
                }
            }
            Deed::Resize { from, to, bytes, leaves } if from == to || self.live[to as usize].is_none() => {
                if let Some((scope, old)) = self.live[from as usize].take() {
                    self.tell(Event { e: 7, ..event(Kind::Taken, scope, from, old) });
                    let gone = if leaves { Some(0) } else { None };
                    let put = event(Kind::Put, scope, to, bytes);
                    self.tell(Event { a: gone.unwrap_or(put.a), e: 7, ..put });
                    self.live[to as usize] = (!leaves).then_some((scope, bytes));
                }
            }
            Deed::Label { place, scope, category } => {
                if let Some((owner, _)) = &mut self.live[place as usize] {
                    *owner = self.scopes[scope];
                    let (scope, a) = (*owner, address(place));
                    self.tell(Event { kind: Kind::Labelled, scope, a, b: category, ..Event::default() });
                }
            }
            Deed::Step(begins) => self.tell(Event { kind: Kind::Step, a: begins.into(), ..Event::default() }),
            Deed::Left(phase) => {
                let a = scope::parts(self.scopes[phase]).phase.into();
                self.tell(Event { kind: Kind::Left, a, ..Event::default() });
            }
            Deed::Pause(paused) => self.tell(Event { kind: Kind::Paused, a: paused.into(), ..Event::default() }),
            Deed::Allocate { .. } | Deed::Resize { .. } => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_sums_hold(deeds in prop::collection::vec(deed(), 0..200)) {
        let no_block = [const { None }; 40];
        let mut program = Program { replay: Replay::new(1), scopes: scopes(), live: no_block, number: 0 };
        deeds.iter().for_each(|deed| program.does(deed));
        let Program { replay, live, number, .. } = program;

        let held: i64 = live.iter().flatten().map(|(_, bytes)| *bytes as i64).sum();
        let sum = |of: fn(&Account) -> Amount| -> i64 { replay.accounts.iter().map(|account| of(account).usable).sum() };
        prop_assert_eq!(replay.live, held);
        prop_assert_eq!(sum(Account::live), held);
        prop_assert_eq!(sum(|account| account.known), held, "every live block is known");
        prop_assert_eq!(replay.alive.categories.iter().sum::<i64>(), held);
        prop_assert_eq!(replay.alive.phases.iter().sum::<i64>(), held);
        for dimension in Dimension::ALL {
            let named = replay.groups.iter().filter(|group| matches!(group.key, Key::Named(of, _) if of == dimension));
            prop_assert_eq!(named.map(|group| group.live.usable).sum::<i64>(), held, "{}", dimension);
        }
        let cells = replay.groups.iter().filter(|group| matches!(group.key, Key::Cell { .. }));
        prop_assert_eq!(cells.map(|group| group.live.usable).sum::<i64>(), held);

        let counts = [Counts::default(); 4];
        let analysis = replay.analysis(number * 1_000, &counts);
        let flows: Sums = analysis.flows.iter().map(Flow::sums).collect();
        prop_assert_eq!(flows.usable_bytes, analysis.coverage.bytes - analysis.coverage.shrunk_bytes);
        prop_assert_eq!(flows.blocks, analysis.coverage.blocks);
        for figures in &analysis.figures {
            prop_assert!(figures.retained_bytes <= figures.peak_bytes || replay.paused || deeds.iter().any(|deed| matches!(deed, Deed::Pause(_))));
        }
        // A reader checks the sums of histograms, figures and growth.
        let mut assembler = Assembler::new();
        (0..scope::count()).for_each(|scope| assembler.apply(Record::Scope(scope::describe(scope as ScopeId))));
        assembler.apply(Record::HighWaters(replay.high_waters()));
        assembler.apply(Record::Peak(replay.snapshot_peak()));
        assembler.apply(Record::Totals(extract::totals(&counts)));
        assembler.apply(Record::Analysis(Box::new(analysis)));
        let mut bytes = Vec::new();
        alloc_timeline::encode(&assembler.timeline(), &mut bytes).expect("memory");
        let read = alloc_timeline::parse(&bytes, Path::new("x"));
        prop_assert!(read.is_ok(), "{:?}", read.err());
    }
}
