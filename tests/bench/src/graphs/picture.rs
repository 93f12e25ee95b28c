//! A picture as a file that needs no other.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::colour::{self, PAPER, TEXT};
use crate::failure::Failure;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Why nothing could be drawn.
pub(super) fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("cannot draw: {error}"))
}

/// Text of this size at a point, which is the middle of its left or its right end.
pub(super) fn text(size: u32, at: HPos) -> TextStyle<'static> {
    let style = ("sans-serif", size).into_text_style(&(1, 1)).color(&TEXT.light);
    style.pos(Pos::new(at, VPos::Center))
}

/// Draws a picture of this size below its title.
pub(super) fn draw(
    size: (u32, u32),
    title: &str,
    description: &str,
    content: impl FnOnce(&Area<'_>) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&PAPER.light).map_err(failed)?;
        root.draw(&Text::new(title.to_owned(), (16, 20), text(17, HPos::Left))).map_err(failed)?;
        let (_, below) = root.split_vertically(38);
        content(&below)?;
        root.present().map_err(failed)?;
    }
    Ok(told(&svg, title, description))
}

/// The same with words for those who do not see it, and colours for a dark page.
fn told(svg: &str, title: &str, description: &str) -> String {
    let Some((head, rest)) = svg.split_once('>') else { return svg.to_owned() };
    let (title, description) = (escaped(title), escaped(description));
    format!(
        "{head} role=\"img\" aria-labelledby=\"title description\">\n<title id=\"title\">{title}</title>\n\
         <desc id=\"description\">{description}</desc>\n<style>{}</style>{rest}",
        colour::style()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_says_what_it_shows() {
        let svg = draw((300, 200), "a < b", "more & more", |_| Ok(())).expect("drawn");
        let document = roxmltree::Document::parse(&svg).expect("XML");
        let text = |name| document.descendants().find(|node| node.has_tag_name(name)).and_then(|node| node.text());
        let tags = ["title", "desc"].map(|name| text(("http://www.w3.org/2000/svg", name)));
        assert_eq!(tags, [Some("a < b"), Some("more & more")]);
        // Each colour that is used is one that the style replaces.
        let style = text(("http://www.w3.org/2000/svg", "style")).expect("a style");
        for node in document.descendants() {
            for name in ["fill", "stroke"] {
                let colour = node.attribute(name).filter(|colour| *colour != "none");
                assert!(colour.is_none_or(|colour| style.contains(colour)), "{colour:?}");
            }
        }
    }
}
