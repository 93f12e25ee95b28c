//! The page of the documentation that the report is put into.

const BEGIN: &str = "<!-- results";
const END: &str = "<!-- end of results";

/// The page with new results between its lines that mark them. A page without such lines becomes the report.
pub(crate) fn with_results(page: &str, report: &str) -> String {
    let Some(begin) = page.lines().position(|line| line.starts_with(BEGIN)) else {
        return format!("{report}\n");
    };
    let lines: Vec<&str> = page.lines().collect();
    let end = lines.iter().position(|line| line.starts_with(END)).unwrap_or(lines.len());
    let after: String = lines[end..].iter().map(|line| format!("{line}\n")).collect();
    format!("{}\n\n{report}\n\n{after}", lines[..=begin].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_the_results_stays() {
        let page = "# A\n<!-- results: x -->\nold\n<!-- end of results -->\n## B\n";
        let changed = with_results(page, "new");
        assert_eq!(changed, "# A\n<!-- results: x -->\n\nnew\n\n<!-- end of results -->\n## B\n");
        assert_eq!(with_results(&changed, "new"), changed);
        assert_eq!(with_results("", "new"), "new\n");
    }
}
