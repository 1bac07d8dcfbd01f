//! Sites by the names of their calls: stacks that differ in addresses alone are one site.
use std::collections::HashMap;

use alloc_timeline::Site;

/// Sites, of which those with the same scope and the same names of calls are put together.
#[derive(Default)]
pub struct Folded {
    /// What has been put together so far.
    pub sites: Vec<Site>,
    index: HashMap<(u32, Vec<u32>, bool), u32>,
}

impl Folded {
    /// Adds a site; returns its place among those that are put together.
    pub fn add(&mut self, site: Site) -> u32 {
        let next = self.sites.len() as u32;
        let place = *self.index.entry((site.scope, site.calls.clone(), site.cut)).or_insert(next);
        match self.sites.get_mut(place as usize) {
            Some(known) => known.sums += site.sums,
            None => self.sites.push(site),
        }
        place
    }
}
