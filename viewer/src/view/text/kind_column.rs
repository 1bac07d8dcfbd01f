//! The column that says what a layer is (`3x3 convolution, 3 to 64 channels`), in tables in which layers stand. There is none
//! where operators did not tell. A table can do without it: the terminal may have no room.
use std::collections::BTreeMap;

use alloc_timeline::Dimension;

use crate::model::Run;

const HEAD: &str = "?what the layer is";

/// The column of one table.
#[derive(Clone, Copy)]
pub(super) struct KindColumn<'a> {
    kinds: Option<&'a BTreeMap<String, String>>,
}

impl<'a> KindColumn<'a> {
    /// The column for a table about this run.
    pub(super) fn new(run: &'a Run) -> KindColumn<'a> {
        KindColumn { kinds: Some(&run.timeline.layer_kinds).filter(|kinds| !kinds.is_empty()) }
    }

    /// The column for a table of names of this dimension: only layers have kinds.
    pub(super) fn for_dimension(run: &'a Run, dimension: Dimension) -> KindColumn<'a> {
        if dimension == Dimension::Layer { KindColumn::new(run) } else { KindColumn { kinds: None } }
    }

    /// The heads of a table, with this column's behind them.
    pub(super) fn behind<'h>(self, heads: &[&'h str]) -> Vec<&'h str> {
        heads.iter().copied().chain(self.kinds.map(|_| HEAD)).collect()
    }

    /// The cell of a layer; a dash where it is not known what that is, and for what is no layer. Nothing where there is no
    /// column.
    pub(super) fn of(self, layer: &str) -> Option<String> {
        self.kinds.map(|kinds| kinds.get(layer).map_or("-", String::as_str).to_owned())
    }

    /// The cell of a row that sums up others.
    pub(super) fn blank(self) -> Option<String> {
        self.kinds.map(|_| String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn a_run_without_kinds_has_no_column() {
        let mut timeline = tiny();
        let run = Run::new("x", timeline.clone());
        let none = KindColumn::new(&run);
        assert_eq!((none.behind(&["layer"]), none.of("fc"), none.blank()), (vec!["layer"], None, None));
        timeline.layer_kinds.insert("fc".to_owned(), "linear, 4 to 2".to_owned());
        let run = Run::new("x", timeline);
        let column = KindColumn::new(&run);
        assert_eq!(column.behind(&["layer"]), ["layer", HEAD]);
        assert_eq!((column.of("fc"), column.of("relu")), (Some("linear, 4 to 2".to_owned()), Some("-".to_owned())));
        assert_eq!(KindColumn::for_dimension(&run, Dimension::Phase).of("fc"), None, "a phase of the same name");
    }
}
