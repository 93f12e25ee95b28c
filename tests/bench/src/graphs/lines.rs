//! A graph of lines.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::colour::{Colour, GRID, TEXT};
use super::picture::{self, Area, failed, text};
use crate::failure::Failure;

/// One of them.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) colour: Colour,
    pub(super) points: Vec<(f64, f64)>,
}

/// How many pixels the names of lines take at the right.
const LEGEND: i32 = 300;
const SIZE: (u32, u32) = (920, 420);

/// Draws them. Their names are beside the graph, in the order of their ends.
pub(super) fn draw(title: &str, description: &str, x: &Axis, y: &Axis, lines: &[Line]) -> Result<String, Failure> {
    picture::draw(SIZE, title, description, |area| {
        let (left, right) = area.split_horizontally(SIZE.0 as i32 - LEGEND);
        let mut chart = ChartBuilder::on(&left)
            .margin(10)
            .x_label_area_size(44)
            .y_label_area_size(58)
            .build_cartesian_2d(x.clone(), y.clone())
            .map_err(failed)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.light)
            .axis_style(GRID.light)
            .x_desc(x.title)
            .y_desc(y.title)
            .label_style(("sans-serif", 13, &TEXT.light))
            .axis_desc_style(("sans-serif", 14, &TEXT.light))
            .draw()
            .map_err(failed)?;
        for (number, line) in lines.iter().enumerate() {
            let style = line.colour.light.stroke_width(2);
            chart.draw_series(LineSeries::new(line.points.clone(), style)).map_err(failed)?;
            let area = chart.plotting_area();
            for point in &line.points {
                area.draw(&mark(number, *point, line.colour)).map_err(failed)?;
            }
        }
        legend(&right, lines)
    })
}

fn legend(area: &Area<'_>, lines: &[Line]) -> Result<(), Failure> {
    let mut order: Vec<(usize, &Line)> = lines.iter().enumerate().collect();
    let end = |line: &Line| line.points.last().map_or(0.0, |point| point.1);
    order.sort_by(|(_, a), (_, b)| end(b).total_cmp(&end(a)));
    for (row, (number, line)) in order.into_iter().enumerate() {
        let y = 24 + 26 * row as i32;
        let style = line.colour.light.stroke_width(2);
        area.draw(&PathElement::new(vec![(0, y), (28, y)], style)).map_err(failed)?;
        area.draw(&mark(number, (14, y), line.colour)).map_err(failed)?;
        area.draw(&Text::new(line.name.clone(), (36, y), text(13, HPos::Left))).map_err(failed)?;
    }
    Ok(())
}

/// Lines differ in their marks, too, for those who do not see colours.
fn mark<'a, C: Clone + 'static>(number: usize, at: C, colour: Colour) -> DynElement<'static, SVGBackend<'a>, C> {
    let style = colour.light.filled();
    match number % 3 {
        0 => Circle::new(at, 4, style).into_dyn(),
        1 => TriangleMarker::new(at, 5, style).into_dyn(),
        _ => Cross::new(at, 4, colour.light.stroke_width(2)).into_dyn(),
    }
}
