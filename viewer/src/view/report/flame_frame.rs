//! A flamegraph in a frame of its own.
use maud::{Markup, html};

/// Keeps the address as it is, and begins when the frame is drawn and has a width.
const BEGIN: &str = "history.replaceState=function(){};\
    addEventListener('load',function(event){requestAnimationFrame(function begin(){\
    if(document.documentElement.clientWidth>0)init(event);else requestAnimationFrame(begin)})})";

/// The flamegraph in a frame with this title.
pub(super) fn flame_frame(title: &str, flame: &str) -> Markup {
    html! {
        figure.flame {
            iframe title=(title) sandbox="allow-scripts allow-modals"
                style={ "height:" (height_of(flame) + 4) "px" } srcdoc=(document(flame)) {}
        }
    }
}

/// The flamegraph as a document of its own. Its script would write the zoom into the address of the document, which is not
/// allowed in a frame without an address, so that function is replaced. Its comments and its XML namespace name web
/// addresses. Nothing fetches them, but a page that needs no network should not name any, so they are removed. A browser
/// gives a frame outside of its window no width: a flamegraph that began there would stay empty, so it begins when the frame
/// is drawn. A frame can lose its width later too, when the window changes; then the script takes twice its margin for the width,
/// since less would make a negative width.
fn document(svg: &str) -> String {
    let svg = svg.find("<svg").map_or(svg, |start| &svg[start..]);
    let mut plain = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some((before, after)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let plain = plain.replace(" xmlns:fg=\"http://github.com/jonhoo/inferno\"", "");
    let plain = plain.replace(" at https://github.com/jonhoo/inferno/", "");
    let plain = plain.replace(" onload=\"init(evt)\"", "");
    let plain = plain.replace("svg.width.baseVal.value", "Math.max(svg.width.baseVal.value,2*xpad)");
    let lines = plain.lines().filter(|line| !line.trim_start().starts_with("//"));
    format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><style>body{{margin:0;background:#fff}}svg{{display:block;width:100%}}\
         </style><script>{BEGIN}</script>{}",
        lines.collect::<Vec<_>>().join("\n")
    )
}

/// The height of the picture in pixels.
fn height_of(svg: &str) -> u32 {
    let after = svg.split_once(" height=\"").map_or("", |(_, rest)| rest);
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(400)
}

#[cfg(test)]
mod tests {
    use super::{document, height_of};

    #[test]
    fn the_frame_names_no_address() {
        let svg =
            "<?xml?><svg xmlns:fg=\"http://github.com/jonhoo/inferno\"><!-- http://a -->\n  // https://b\n<g/></svg>";
        assert!(document(svg).ends_with("<svg>\n<g/></svg>") && !document(svg).contains("http"));
    }

    #[test]
    fn the_flamegraph_begins_when_its_frame_is_drawn() {
        let page = document("<svg onload=\"init(evt)\" height=\"1\"><g/></svg>");
        assert!(page.contains("if(document.documentElement.clientWidth>0)init(event)"), "{page}");
        assert!(page.ends_with("<svg height=\"1\"><g/></svg>"), "{page}");
    }

    #[test]
    fn a_frame_without_a_width_makes_no_negative_one() {
        let page = document("<svg><script>frames.width = svg.width.baseVal.value - xpad * 2;</script></svg>");
        assert!(page.contains("frames.width = Math.max(svg.width.baseVal.value,2*xpad) - xpad * 2;"), "{page}");
    }

    #[test]
    fn the_height_is_read_from_the_picture() {
        assert_eq!(height_of("<svg width=\"1200\" height=\"326\" x=\"1\">"), 326);
        assert_eq!(height_of("<svg>"), 400);
    }
}
