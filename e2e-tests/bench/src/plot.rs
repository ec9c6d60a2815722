//! Cost over size as a picture: both axes logarithmic, so that a straight line is a power of the size.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 610.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 340.0;

/// One contender's costs: where it stands on the x axis, and nanoseconds.
pub struct Line {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
}

/// From here to there, as positions on the paper.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        Self { low, high: values.fold(low, f64::max), from, to }
    }

    fn at(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * (value / self.low).ln() / (self.high / self.low).ln()
    }
}

/// An SVG of its own, for light and dark pages. `ticks` are the places on the x axis that get a name.
pub fn svg(title: &str, along: &str, ticks: &[(f64, String)], lines: &[Line]) -> Result<String, std::fmt::Error> {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let x = Axis::over(points().map(|(x, _)| x), LEFT, RIGHT);
    let y = Axis::over(points().flat_map(|(_, y)| [y / 1.3, y * 1.3]), BOTTOM, TOP);
    let mut svg = String::new();
    writeln!(svg, r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">"#)?;
    writeln!(svg, "<title>{title}</title>\n<style>{STYLE}</style>")?;
    writeln!(svg, r#"<text class="title" x="{LEFT}" y="24">{title}</text>"#)?;
    for cost in round_numbers(y.low, y.high) {
        let at = y.at(cost);
        writeln!(svg, r#"<path class="grid" d="M{LEFT} {at:.1}H{RIGHT}"/>"#)?;
        writeln!(svg, r#"<text class="end" x="{}" y="{:.1}">{}</text>"#, LEFT - 8.0, at + 4.0, duration(cost))?;
    }
    for (value, name) in ticks {
        let at = x.at(*value);
        writeln!(svg, r#"<path class="grid" d="M{at:.1} {TOP}V{BOTTOM}"/>"#)?;
        writeln!(svg, r#"<text class="middle" x="{at:.1}" y="{}">{name}</text>"#, BOTTOM + 18.0)?;
    }
    writeln!(svg, r#"<text class="middle" x="{}" y="{}">{along}</text>"#, f64::midpoint(LEFT, RIGHT), BOTTOM + 42.0)?;
    let mut names: Vec<(f64, &str)> = vec![];
    for line in lines {
        let class = line.name.replace(' ', "-");
        let places: Vec<(f64, f64)> = line.points.iter().map(|(size, cost)| (x.at(*size), y.at(*cost))).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        writeln!(svg, r#"<path class="line {class}" d="M{}"/>"#, path.join("L"))?;
        for (x, y) in &places {
            writeln!(svg, r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="3.5"/>"#)?;
        }
        names.extend(places.last().map(|(_, y)| (*y, line.name)));
    }
    // From the top down, each beneath the one before.
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = 0.0;
    for (y, name) in names {
        let at = f64::max(y, free);
        writeln!(svg, r#"<text x="{}" y="{:.1}">{name}</text>"#, RIGHT + 10.0, at + 4.0)?;
        free = at + 16.0;
    }
    writeln!(svg, "</svg>")?;
    Ok(svg)
}

/// 1, 2, 5, 10, 20, … between two bounds.
fn round_numbers(low: f64, high: f64) -> impl Iterator<Item = f64> {
    let numbers = (0..10).flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(decade)));
    numbers.filter(move |number| (low..=high).contains(number))
}

fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e3 => format!("{nanoseconds} ns"),
        ..1e6 => format!("{} µs", nanoseconds / 1e3),
        ..1e9 => format!("{} ms", nanoseconds / 1e6),
        _ => format!("{} s", nanoseconds / 1e9),
    }
}

const STYLE: &str = "
text { font: 13px sans-serif; fill: #24292f }
.title { font-weight: bold }
.end { text-anchor: end }
.middle { text-anchor: middle }
.grid { stroke: #d0d7de; fill: none }
.limit { color: #6e7781; stroke-dasharray: 2 4 }
.policy { color: #0969da }
.typed-twin { color: #bc4c00; stroke-dasharray: 8 4 }
.line { stroke: currentColor; stroke-width: 2.5; fill: none }
circle { fill: currentColor }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .grid { stroke: #30363d }
  .limit { color: #9198a1 }
  .policy { color: #58a6ff }
  .typed-twin { color: #f0883e }
}
";
