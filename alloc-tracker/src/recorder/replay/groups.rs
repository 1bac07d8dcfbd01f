//! The groups of a replay: which there are, and how they follow the accounts.
use alloc_timeline::Dimension;

use super::Replay;
use crate::recorder::account::Amount;
use crate::recorder::group::{Group, High, Key};
use crate::tag::scope::{self, NameId, Parts, ScopeId};

impl Replay {
    /// The group of `key`, made when there is none.
    pub(super) fn group(&mut self, key: Key, phase: Option<u32>) -> u32 {
        *self.group_index.entry(key).or_insert_with(|| {
            self.groups.push(Group::new(key, phase));
            (self.groups.len() - 1) as u32
        })
    }

    /// The number of the phase called `name`: its place among those that were seen.
    pub(super) fn phase(&mut self, name: NameId) -> u32 {
        let known = self.phases.iter().position(|(known, _)| *known == name);
        let number = known.unwrap_or_else(|| {
            self.phases.push((name, 0));
            self.phases.len() - 1
        });
        number as u32
    }

    /// The group of the layer and phase of `scope`.
    pub(super) fn cell_of(&mut self, scope: ScopeId) -> u32 {
        let place = usize::from(scope);
        if let Some(&Some(cell)) = self.cells.get(place) {
            return cell;
        }
        let Parts { phase, layer, .. } = scope::parts(scope);
        let number = self.phase(phase);
        let cell = self.group(Key::Cell { phase, layer }, Some(number));
        if self.cells.len() <= place {
            self.cells.resize(place + 1, None);
        }
        self.cells[place] = Some(cell);
        cell
    }

    pub(super) fn change_groups(&mut self, account: u32, amount: Amount) {
        let account = &self.accounts[account as usize];
        let phase = self.groups[account.groups[0] as usize].phase.unwrap_or(0);
        self.alive.add(phase, account.category, amount.usable);
        for group in account.groups {
            let group = &mut self.groups[group as usize];
            let ends = group.phase.map_or(0, |phase| self.phases[phase as usize].1);
            group.change(amount, ends, self.step_ends);
        }
    }

    /// Makes this instant the peak of those of the account's groups that hold `more` bytes more than at theirs.
    pub(super) fn raise_groups(&mut self, account: u32, more: i64, time_ns: u64) {
        for group in self.accounts[account as usize].groups {
            let group = &mut self.groups[group as usize];
            // What a block is for may be known only in the end: categories have no peaks of their own.
            if group.live.usable >= group.high.usable + more && !matches!(group.key, Key::Named(Dimension::Category, _))
            {
                let Amount { usable, requested, .. } = group.live;
                group.high = High { usable, requested, time_ns, process: self.live, alive: self.alive };
            }
        }
    }

    /// A block of `usable` bytes belongs to the account's groups.
    pub(super) fn enlarge(&mut self, account: u32, usable: i64) {
        for group in self.accounts[account as usize].groups {
            let group = &mut self.groups[group as usize];
            group.largest = group.largest.max(usable);
        }
    }

    /// A phase was left.
    pub(super) fn left(&mut self, name: NameId) {
        let number = self.phase(name) as usize;
        self.phases[number].1 += 1;
    }
}
