//! Names of what a forked child has from its parent. Such blocks keep the phase, layer and operator in which the parent
//! allocated them, and their names say that they are inherited, so that they never mix with the child's own.

use crate::scope::Scope;

/// What every name of an inherited owner ends with.
const MARK: &str = "(inherited)";

/// The name of the inherited part of a phase, a layer or an operator.
///
/// ```
/// assert_eq!(alloc_timeline::inherited_name("forward"), "forward (inherited)");
/// assert_eq!(alloc_timeline::inherited_name(""), "(inherited)");
/// ```
pub fn inherited_name(name: &str) -> String {
    if name.is_empty() { MARK.to_owned() } else { format!("{name} {MARK}") }
}

/// Whether what the scope owns was allocated before the process was forked. Each such scope has a phase, whose name says so.
///
/// ```
/// use alloc_timeline::{Scope, inherited_name, is_inherited};
///
/// let own = Scope { phase: "forward".into(), ..Scope::default() };
/// let inherited = Scope { phase: inherited_name(&own.phase), ..own.clone() };
/// assert!(is_inherited(&inherited) && !is_inherited(&own));
/// ```
pub fn is_inherited(scope: &Scope) -> bool {
    scope.phase.ends_with(MARK)
}
