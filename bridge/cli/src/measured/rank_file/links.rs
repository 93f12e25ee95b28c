//! The columns of numbers that links are written as (`recorder/src/columns.rs`), read back.

use qmpi_abi::FnId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::measured::rank_file::LinkRecord;

/// In the order of the record.
#[derive(Deserialize)]
struct Columns(
    Vec<usize>,
    Vec<usize>,
    Vec<usize>,
    Vec<u64>,
    Vec<u64>,
    Vec<u64>,
    // Times, with exponents.
    Vec<f64>,
    Vec<f64>,
    Vec<f64>,
    Vec<u32>,
    Vec<i64>,
);

/// Links of columns that fit together.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LinkRecord>, D::Error> {
    links(&Columns::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("the columns of the links do not fit"))
}

fn links(columns: &Columns) -> Option<Vec<LinkRecord>> {
    let Columns(functions, layers, callers, calls, sent, received, own, inclusive, longest, first, histogram) = columns;
    let mut links: Vec<LinkRecord> = Vec::new();
    let (mut function, mut last) = (0, None);
    for (row, step) in functions.iter().enumerate() {
        function += step;
        let layer = *layers.get(row)?;
        if last.replace((function, layer)) != Some((function, layer)) {
            let id = FnId::from_index(function)?;
            links.push(LinkRecord { layer, function: id.name().to_owned(), ..LinkRecord::default() });
        }
        let link = links.last_mut()?;
        link.callers.push((*callers.get(row)?, *calls.get(row)?));
        link.bytes.push([*sent.get(row)?, *received.get(row)?]);
    }
    let mut counts = histogram.split(|count| *count < 0);
    for (row, link) in links.iter_mut().enumerate() {
        let or = |number: f64, other: u64| if number == 0.0 { other } else { number as u64 };
        link.own = *own.get(row)? as i64;
        link.inclusive = or(*inclusive.get(row)?, link.own.max(0).cast_unsigned());
        link.longest = or(*longest.get(row)?, link.inclusive);
        let bits = *first.get(row)?..;
        let counts = bits.zip(counts.next()?.iter().map(|count| count.unsigned_abs()));
        link.histogram = counts.filter(|(_, count)| *count > 0).collect();
    }
    Some(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `columns.rs` of the core expects of itself.
    const TEXT: &str = "[[7,3,0,0],[1,1,1,2],[0,1,2,1],[1,1,3,4],[0,40,1,40],[0,0,2,0],[9,500,-5],[0,0,1235e3],[0,0,99],[9,9,9],\
        [3,0,1,-1,3,0,1,-1,3,0,1,-1]]";

    #[test]
    fn columns_are_links() {
        let read = links(&serde_json::from_str(TEXT).unwrap()).unwrap();
        let name = |index: usize| FnId::from_index(index).unwrap().name().to_owned();
        let link = |layer, function, callers, bytes, [own, inclusive, longest]: [i64; 3]| LinkRecord {
            layer,
            function: name(function),
            callers,
            bytes,
            inclusive: inclusive as u64,
            own,
            longest: longest as u64,
            histogram: vec![(9, 3), (11, 1)],
        };
        let expected = [
            link(1, 7, vec![(0, 1)], vec![[0, 0]], [9, 9, 9]),
            link(1, 10, vec![(1, 1), (2, 3)], vec![[40, 0], [1, 2]], [500, 500, 500]),
            link(2, 10, vec![(1, 4)], vec![[40, 0]], [-5, 1_235_000, 99]),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn columns_that_do_not_fit() {
        for (column, other) in [("[1,1,1,2]", "[1,1]"), ("[9,500,-5]", "[]"), ("[7,3", "[7000,3"), ("1,-1]]", "1]]")] {
            let text = TEXT.replacen(column, other, 1);
            let damaged = links(&serde_json::from_str(&text).unwrap());
            // Without its end the last row of a histogram is there all the same.
            assert_eq!(damaged.is_none(), column != "1,-1]]", "{column}");
        }
    }
}
