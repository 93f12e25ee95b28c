//! Configuration files, tool lists and sets of ranks: an answer or an error of one line.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use qmpi_plan::{Config, RankSet};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = str::from_utf8(input) else { return };
    if let Err(error) = Config::parse(Path::new("/conf/qmpi.toml"), text) {
        assert!(!error.to_string().contains('\n'), "{error}");
        assert!(!error.hint().contains('\n'), "{}", error.hint());
    }
    if let Ok(ranks) = text.parse::<RankSet>() {
        assert_eq!(ranks.to_string().parse::<RankSet>().as_ref(), Ok(&ranks));
    }
});
