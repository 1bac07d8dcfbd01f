//! Paths in tokens of no known grammar: bodies of `macro_rules!`, arguments of attributes and of macros.
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Token, UseTree};

use crate::tree;

/// Keys of serde and clap whose text is a path to a function.
const KEYS: [&str; 5] = ["with", "default", "serialize_with", "deserialize_with", "skip_serializing_if"];

/// The names of a path.
pub fn names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Every path of two names or more.
pub fn paths(tokens: &TokenStream) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    scan(tokens, &mut found);
    found
}

fn scan(tokens: &TokenStream, found: &mut Vec<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is = |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => scan(&group.stream(), found),
            TokenTree::Ident(first) => {
                // `<T>::name` and `::std::name` are none of this crate's modules.
                let behind_colons = at >= 2 && is(at - 1, ':') && is(at - 2, ':');
                let mut path = vec![first.to_string()];
                while is(at + 1, ':') && is(at + 2, ':') {
                    match tokens.get(at + 3) {
                        Some(TokenTree::Ident(next)) => path.push(next.to_string()),
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            found.extend(imports(&path, group));
                            break;
                        }
                        _ => break,
                    }
                    at += 3;
                }
                if path.len() > 1 && !behind_colons {
                    found.push(path);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The paths of `before::{b, c}`.
fn imports(before: &[String], group: &Group) -> Vec<Vec<String>> {
    let trees = Punctuated::<UseTree, Token![,]>::parse_terminated.parse2(group.stream());
    trees.iter().flatten().flat_map(tree::imports).map(|import| [before, &import.path].concat()).collect()
}

/// Paths that an attribute has as text: `#[serde(with = "crate::hex")]`.
pub fn paths_in_text(tokens: &TokenStream) -> Vec<Vec<String>> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut found = Vec::new();
    for window in tokens.windows(3) {
        if let [TokenTree::Ident(key), TokenTree::Punct(_), TokenTree::Literal(text)] = window
            && KEYS.iter().any(|word| key == word)
            && let Ok(syn::Lit::Str(text)) = syn::parse2(TokenTree::Literal(text.clone()).into())
            && let Ok(path) = text.parse::<syn::Path>()
        {
            found.push(names(&path));
        }
    }
    found
}
