//! Which spans are phases, which are layers, and which are neither.
use std::fmt::Debug;

use tracing_core::field::{Field, Visit};
use tracing_core::span::Attributes;

/// The field by which a span says what it is.
const FIELD: &str = "memory";

/// What a span is to the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Phase,
    Layer,
    /// No scope.
    Nothing,
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        match name {
            "phase" => Some(Kind::Phase),
            "layer" => Some(Kind::Layer),
            "none" => Some(Kind::Nothing),
            _ => None,
        }
    }
}

/// What spans are by their targets.
#[derive(Debug)]
pub struct Rules {
    /// Targets, each for itself and for the modules in it.
    targets: Vec<(String, Kind)>,
    /// What a span is of which nothing is said.
    pub others: Kind,
}

impl Rules {
    /// Every span is a layer.
    pub fn new() -> Rules {
        Rules { targets: Vec::new(), others: Kind::Layer }
    }

    /// Spans of `target`, and of the modules in it, are of this kind.
    pub fn add(&mut self, target: &str, kind: Kind) {
        self.targets.push((target.to_owned(), kind));
    }

    /// What the span with these attributes is. Its field counts first, then the longest target that was added.
    pub fn kind(&self, span: &Attributes<'_>) -> Kind {
        let mut own = Own(None);
        span.record(&mut own);
        own.0.unwrap_or_else(|| self.kind_of_target(span.metadata().target()))
    }

    fn kind_of_target(&self, target: &str) -> Kind {
        let covers = |module: &str| match target.strip_prefix(module) {
            Some(rest) => rest.is_empty() || rest.starts_with("::"),
            None => false,
        };
        let covering = self.targets.iter().filter(|(module, _)| covers(module));
        covering.max_by_key(|(module, _)| module.len()).map_or(self.others, |&(_, kind)| kind)
    }
}

/// What a span's field says.
struct Own(Option<Kind>);

impl Visit for Own {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == FIELD {
            self.0 = Kind::named(value);
        }
    }

    // Values that are no text name no kind.
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_target_counts() {
        let mut rules = Rules::new();
        rules.add("app", Kind::Nothing);
        rules.add("app::model", Kind::Layer);
        rules.add("app::train", Kind::Phase);
        let kinds = ["app", "app::model", "app::model::head", "app::train", "app::trainer", "application"]
            .map(|target| rules.kind_of_target(target));
        let none = Kind::Nothing;
        assert_eq!(kinds, [none, Kind::Layer, Kind::Layer, Kind::Phase, none, Kind::Layer]);
    }
}
