//! The names on the frames of a flamegraph: where a frame has no room for a name, its middle is left out, because the ends tell
//! the most about a layer's path.
//!
//! The library that draws flamegraphs cuts names at one end, twice: in the picture, which is what programs without scripts show,
//! and in the picture's script, which does it anew for each width and zoom. Both are replaced here, as text.
use crate::model::shortened;
use crate::view::svg::Escaped;

/// What the script has to be without, and what it gets instead. In the script a name ends before the last bracket of the
/// frame's title, and with a blank that is no part of it. Of a name with no room for a character of each end nothing is left.
const SCRIPT: [(&str, &str); 4] = [
    (
        r#"function update_text(e) {"#,
        r#"// A name of which this many characters are left, with a sign in place of its middle.
function without_middle(name, left) {
    var tail = Math.floor(left * 3 / 5);
    return name.substring(0, left - tail) + "\u2026" + name.substring(name.length - tail);
}

// The width of that sign, measured in the text of a frame.
var sign_width = 0;
function width_of_sign(t) {
    if (sign_width === 0) {
        var before = t.textContent;
        t.textContent = "\u2026";
        sign_width = t.getComputedTextLength();
        t.textContent = before;
    }
    return sign_width;
}

function update_text(e) {"#,
    ),
    (r#".textContent.replace(/\([^(]*\)$/,"");"#, r#".textContent.replace(/ ?\([^(]*\)$/,"");"#),
    (
        r#"textElemNewAttributes.push([newX, txt.substring(0, substringLength) + ".."]);"#,
        r#"textElemNewAttributes.push([newX, substringLength > 0 ? without_middle(txt, substringLength + 1) : ""]);"#,
    ),
    (
        r#"        for (var x = txt.length - 2; x > 0; x--) {
            if (t.getSubStringLength(0, x + 2) <= w) {
                t.textContent = txt.substring(0, x) + "..";
                return;
            }
        }"#,
        r#"        var room = w - width_of_sign(t);
        for (var x = txt.length - 1; x > 1; x--) {
            var tail = Math.floor(x * 3 / 5);
            if (t.getSubStringLength(0, x - tail) + t.getSubStringLength(txt.length - tail, tail) <= room) {
                t.textContent = without_middle(txt, x);
                return;
            }
        }"#,
    ),
];

/// What the library puts in place of the end of a name.
const CUT: &str = "..";

/// The flamegraph with names that lack their middle instead of their end.
pub(super) fn with_middles_left_out(svg: &str) -> String {
    let svg = SCRIPT.iter().fold(svg.to_owned(), |svg, (before, after)| svg.replace(before, after));
    let mut frames = svg.split("<title>");
    let head = frames.next().unwrap_or_default().to_owned();
    frames.fold(head, |out, frame| out + "<title>" + &frame_without_middle(frame).unwrap_or_else(|| frame.to_owned()))
}

/// A frame, from behind the beginning of its title; `None` when its name is whole.
fn frame_without_middle(frame: &str) -> Option<String> {
    let (title, rest) = frame.split_once("</title>")?;
    let (before, after) = rest.split_once("</text>")?;
    let (before, text) = before.rsplit_once('>')?;
    let (name, text) = (plain(title.rsplit_once(" (")?.0), plain(text));
    if name == text {
        return None;
    }
    let room = text.strip_suffix(CUT)?.chars().count() + CUT.len();
    Some(format!("{title}</title>{before}>{}</text>{after}", Escaped(&shortened(&name, room))))
}

/// The text that stands in an SVG as `escaped`.
fn plain(escaped: &str) -> String {
    let plain = escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    plain.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use inferno::flamegraph::{Options, TextTruncateDirection, from_lines};

    use super::*;

    /// What the library draws of these lines, before and after.
    fn drawn(lines: &[&str]) -> (String, String) {
        let mut options = Options::default();
        options.text_truncate_direction = TextTruncateDirection::Right;
        let mut svg = Vec::new();
        from_lines(&mut options, lines.iter().copied(), &mut svg).expect("a flamegraph");
        let svg = String::from_utf8(svg).expect("text");
        let after = with_middles_left_out(&svg);
        (svg, after)
    }

    /// Should the library's script change, this fails: then the replacements must be written anew.
    #[test]
    fn the_script_of_the_library_is_the_one_that_is_replaced() {
        let (before, after) = drawn(&["a 1"]);
        for (theirs, ours) in SCRIPT {
            assert!(before.contains(theirs) && after.contains(ours), "{theirs}");
        }
        // Each place at which it cuts names at their ends, when that is asked for.
        assert_eq!(before.matches("Truncate the right side of the text.").count(), 2);
        assert_eq!(after.matches("without_middle(").count(), 3, "one is the function itself");
    }

    #[test]
    fn a_name_without_room_lacks_its_middle() {
        let name = "encoder.layers.11.attention.output<T>";
        let (before, after) = drawn(&[&format!("a;{name} 15"), "a;b&c 5", "a;other 80"]);
        assert!(before.contains(">encoder.layers.11.atten..</text>"), "{before}");
        assert!(after.contains(">encoder.la…tion.output&lt;T&gt;</text>"), "{after}");
        assert!(after.contains(&format!("<title>{} (15 samples", name.replace('<', "&lt;").replace('>', "&gt;"))));
        for whole in [">other</text>", ">b&amp;c</text>"] {
            assert!(before.contains(whole) && after.contains(whole), "{after}");
        }
    }

    #[test]
    fn what_has_room_stays_as_it_is() {
        for name in ["layer1.0.conv1", "ends in..", "\u{e9}t\u{e9}"] {
            let (before, after) = drawn(&[&format!("{name} 1")]);
            assert!(
                before.contains(&format!(">{name}</text>")) && after.contains(&format!(">{name}</text>")),
                "{name}"
            );
        }
    }
}
