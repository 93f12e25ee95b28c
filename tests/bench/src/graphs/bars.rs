//! A graph of bars, in groups.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::colour::{Colour, GRID, SERIES, TEXT};
use super::picture::{self, failed, text};
use crate::failure::Failure;

/// Bars under one name: a value for each series that has one.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) values: Vec<Option<f64>>,
}

const WIDTH: u32 = 920;
/// Pixels for the names of groups.
const NAMES: u32 = 360;
const BAR: i32 = 14;
const GAP: i32 = 12;

/// Draws them from top to bottom, with their values as numbers.
pub(super) fn draw(
    title: &str,
    description: &str,
    unit: &'static str,
    series: &[String],
    groups: &[Group],
) -> Result<String, Failure> {
    let bars = |group: &Group| group.values.iter().flatten().count() as i32;
    let height: i32 = groups.iter().map(|group| bars(group) * BAR + GAP).sum();
    let most = groups.iter().flat_map(|group| group.values.iter().flatten()).copied().fold(0.0, f64::max);
    // Room for the number beside the longest bar.
    let axis = Axis::linear(unit, most * 1.08);
    picture::draw((WIDTH, height as u32 + 38 + 34 + 64), title, description, |area| {
        let (legend, below) = area.split_vertically(34);
        for (number, name) in series.iter().enumerate() {
            let x = NAMES as i32 + 10 + 135 * number as i32;
            let swatch = Rectangle::new([(x, 10), (x + 12, 22)], colour(number).light.filled());
            legend.draw(&swatch).map_err(failed)?;
            legend.draw(&Text::new(name.clone(), (x + 18, 16), text(13, HPos::Left))).map_err(failed)?;
        }
        let mut chart = ChartBuilder::on(&below)
            .margin(10)
            .x_label_area_size(44)
            .y_label_area_size(NAMES)
            .build_cartesian_2d(axis.clone(), f64::from(height)..0.0)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(0)
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.light)
            .axis_style(GRID.light)
            .x_desc(axis.title)
            .label_style(("sans-serif", 13, &TEXT.light))
            .axis_desc_style(("sans-serif", 14, &TEXT.light))
            .draw()
            .map_err(failed)?;
        let plot = chart.plotting_area();
        let mut y = GAP / 2;
        for group in groups {
            let middle = y + bars(group) * BAR / 2;
            let (left, at) = chart.backend_coord(&(0.0, f64::from(middle)));
            let (_, top) = below.get_base_pixel();
            area.draw(&Text::new(group.name.clone(), (left - 10, at - top + 34), text(13, HPos::Right)))
                .map_err(failed)?;
            for (number, value) in group.values.iter().enumerate() {
                let Some(value) = *value else { continue };
                let (from, to) = (f64::from(y + 1), f64::from(y + BAR - 1));
                let bar = Rectangle::new([(0.0, from), (value.max(0.0), to)], colour(number).light.filled());
                plot.draw(&bar).map_err(failed)?;
                let beside = EmptyElement::at((value.max(0.0), f64::from(y + BAR / 2)))
                    + Text::new(format!("{value:.2}"), (5, 0), text(12, HPos::Left));
                plot.draw(&beside).map_err(failed)?;
                y += BAR;
            }
            y += GAP;
        }
        Ok(())
    })
}

fn colour(number: usize) -> Colour {
    SERIES[number % SERIES.len()]
}
