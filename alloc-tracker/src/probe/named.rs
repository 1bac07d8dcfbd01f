//! Mappings, cut into the parts of which somebody knows what they are for: the kernel makes one mapping of all neighbours.
use super::smaps::{Kind, Mapping, Range};
use crate::named_memory::Named;

/// The mappings, where `named` has the known parts by address. `resident` counts the resident bytes of a range.
pub fn cut(mappings: &[Mapping], named: &[Named], resident: impl Fn(&Range) -> u64) -> Vec<Mapping> {
    mappings.iter().flat_map(|mapping| parts(mapping, named, &resident)).collect()
}

fn parts(mapping: &Mapping, named: &[Named], resident: &impl Fn(&Range) -> u64) -> Vec<Mapping> {
    let mut parts = Vec::new();
    let mut rest = mapping.clone();
    let inside = |named: &&Named| mapping.range.start <= named.range.start && named.range.end <= mapping.range.end;
    let known = named.iter().filter(inside).filter_map(|known| Some((known, mapping.kind.told(known.what)?)));
    for (Named { range, place, .. }, kind) in known {
        if range.start < rest.range.start {
            // It overlaps the one before, which must have been unmapped meanwhile.
            continue;
        }
        let before = rest.split_off(range.start, resident);
        parts.extend(before);
        let own = rest.split_off(range.end, resident);
        parts.extend(own.map(|own| Mapping { kind, name: place.clone(), ..own }));
    }
    parts.extend((!rest.range.is_empty()).then_some(rest));
    parts
}

impl Kind {
    /// What memory of this kind is when somebody tells what it is for; `None` where nobody can.
    fn told(self, what: &'static str) -> Option<Kind> {
        match self {
            Kind::Anonymous => Some(Kind::Told(what)),
            Kind::Shared => Some(Kind::ToldShared(what)),
            _ => None,
        }
    }
}

impl Mapping {
    /// Takes away what lies before the address; `None` when that is nothing.
    fn split_off(&mut self, address: usize, resident: &impl Fn(&Range) -> u64) -> Option<Mapping> {
        let range = self.range.start..address;
        if range.is_empty() {
            return None;
        }
        // What two instruments say of the same pages may differ by those that came between.
        let rss = if address == self.range.end { self.rss } else { resident(&range).min(self.rss) };
        self.range.start = address;
        self.rss -= rss;
        self.anonymous = self.rss;
        Some(Mapping { range, rss, anonymous: rss, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(range: Range, kind: Kind, name: &str, rss: u64) -> Mapping {
        let name = name.to_owned();
        Mapping { range, kind, name, writable: true, executable: false, unreserved: false, rss, anonymous: rss }
    }

    fn named(range: Range, place: &str) -> Named {
        Named { range, what: "arenas", place: place.to_owned() }
    }

    /// Two arenas beside each other in a mapping of 16 pages, of which each page up to the last three is resident.
    #[test]
    fn a_mapping_is_cut_into_what_is_known_of_it_and_the_rest() {
        let whole = mapping(0x10000..0x20000, Kind::Anonymous, "", 0xd000);
        let file = mapping(0x20000..0x21000, Kind::File, "libc.so", 0x1000);
        let known = [
            named(0x12000..0x14000, "a"),
            named(0x14000..0x18000, "b"),
            // In another mapping, and longer than the one that it begins in.
            named(0x1f000..0x22000, "c"),
        ];
        let resident = |range: &Range| range.end.min(0x1d000).saturating_sub(range.start) as u64;
        let cut = cut(&[whole.clone(), file.clone()], &known, resident);
        let expected = [
            mapping(0x10000..0x12000, Kind::Anonymous, "", 0x2000),
            mapping(0x12000..0x14000, Kind::Told("arenas"), "a", 0x2000),
            mapping(0x14000..0x18000, Kind::Told("arenas"), "b", 0x4000),
            mapping(0x18000..0x20000, Kind::Anonymous, "", 0x5000),
            file.clone(),
        ];
        assert_eq!(cut, expected);
        assert_eq!(super::cut(&[whole.clone(), file.clone()], &[], resident), [whole, file]);
    }

    #[test]
    fn what_is_known_can_be_the_whole_mapping() {
        for (kind, told) in [(Kind::Anonymous, Kind::Told("arenas")), (Kind::Shared, Kind::ToldShared("arenas"))] {
            let whole = mapping(0x10000..0x20000, kind, "/dev/shm/torch_1", 0xd000);
            let cut = cut(&[whole], &[named(0x10000..0x20000, "a")], |_| 0);
            assert_eq!(cut, [mapping(0x10000..0x20000, told, "a", 0xd000)]);
        }
    }
}
