//! Colours, each for a light and a dark page.

use plotters::style::RGBColor;

/// A colour as it is written into the picture, and what replaces it where a reader prefers a dark page.
#[derive(Clone, Copy)]
pub(super) struct Colour {
    pub(super) light: RGBColor,
    dark: &'static str,
}

const fn colour(light: (u8, u8, u8), dark: &'static str) -> Colour {
    Colour { light: RGBColor(light.0, light.1, light.2), dark }
}

pub(super) const PAPER: Colour = colour((255, 255, 254), "#0d1117");
pub(super) const TEXT: Colour = colour((31, 35, 40), "#e6edf3");
pub(super) const GRID: Colour = colour((217, 222, 228), "#30363d");

/// Of lines and bars: Okabe and Ito's, which those who confuse red and green can tell apart, too.
pub(super) const BLUE: Colour = colour((0, 114, 178), "#58a6e0");
pub(super) const GREEN: Colour = colour((0, 139, 103), "#2dc79a");
pub(super) const AMBER: Colour = colour((179, 119, 0), "#e6b422");
pub(super) const RED: Colour = colour((203, 84, 0), "#f0803c");
pub(super) const PURPLE: Colour = colour((168, 83, 133), "#dc9ac0");
pub(super) const SKY: Colour = colour((50, 140, 190), "#8fd0f5");

pub(super) const SERIES: [Colour; 6] = [BLUE, GREEN, AMBER, RED, PURPLE, SKY];

/// The rules that replace all of them on a dark page.
pub(super) fn style() -> String {
    let rule = |colour: &Colour| {
        let RGBColor(red, green, blue) = colour.light;
        let (light, dark) = (format!("#{red:02X}{green:02X}{blue:02X}"), colour.dark);
        format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
    };
    let rules: String = [PAPER, TEXT, GRID].iter().chain(&SERIES).map(rule).collect();
    format!("@media(prefers-color-scheme:dark){{{rules}}}")
}
