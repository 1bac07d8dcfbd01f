//! Which items are compiled for tests only: `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, ...))]`.
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token};

/// Whether a build that is no test leaves `item` out.
pub fn item(item: &Item) -> bool {
    let attributes = match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return false,
    };
    attributes_say_so(attributes)
}

/// The same for anything that has attributes.
pub fn attributes_say_so(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            list.parse_args::<Meta>().is_ok_and(|condition| holds(&condition) == Some(false))
        }
        _ => false,
    })
}

/// Whether a condition holds when `test` is not set; `None` when that depends on other things.
fn holds(condition: &Meta) -> Option<bool> {
    let parts = |list: &syn::MetaList| -> Vec<Option<bool>> {
        let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        parts.map(|parts| parts.iter().map(holds).collect()).unwrap_or_default()
    };
    match condition {
        Meta::Path(path) if path.is_ident("test") => Some(false),
        Meta::List(list) if list.path.is_ident("not") => parts(list).first().copied().flatten().map(|held| !held),
        Meta::List(list) if list.path.is_ident("all") && parts(list).contains(&Some(false)) => Some(false),
        Meta::List(list) if list.path.is_ident("any") => {
            let parts = parts(list);
            let never = !parts.is_empty() && parts.iter().all(|part| *part == Some(false));
            never.then_some(false)
        }
        _ => None,
    }
}
