//! Prints what inspection says about files, and how long it took: for looking at real tools.

use std::path::Path;
use std::time::Instant;

use qmpi_elf::mpi::abi_family;
use qmpi_elf::{ElfFile, SearchPath, Tool};

fn main() {
    let search = SearchPath::from_process();
    for argument in std::env::args().skip(1) {
        let path = Path::new(&argument);
        let mut best = (f64::MAX, f64::MAX, f64::MAX);
        let rounds = 20;
        for _ in 0..rounds {
            let start = Instant::now();
            let file = ElfFile::open(path);
            let opened = start.elapsed().as_secs_f64();
            let count = file.iter().flat_map(ElfFile::symbols).filter(|symbol| symbol.name.len() > 1).count();
            let walked = start.elapsed().as_secs_f64();
            let start = Instant::now();
            let tool = Tool::inspect(path, &[], &search, &|_| false);
            let inspected = start.elapsed().as_secs_f64();
            best = (best.0.min(opened), best.1.min(walked), best.2.min(inspected));
            std::hint::black_box((tool.is_ok(), count));
        }
        println!(
            "{argument}: open {:.0} us, with a walk over its symbols {:.0} us, as a tool {:.0} us",
            best.0 * 1e6,
            best.1 * 1e6,
            best.2 * 1e6
        );
        match Tool::inspect(path, &[], &search, &|_| false) {
            Ok(tool) => {
                let names = |ids: &[qmpi_abi::FnId]| ids.iter().map(|id| id.name()).collect::<Vec<_>>().join(" ");
                println!("  {:?}, next function {:?}, abi {:?}", tool.kind, tool.next_function, tool.abi_evidence);
                println!("  objects {:?}", tool.closure.objects.iter().map(ElfFile::name).collect::<Vec<_>>());
                println!("  stopped {:?} missing {:?}", tool.closure.stopped, tool.closure.missing);
                println!("  intercepts {}", names(&tool.intercepts));
                println!("  pmpi {} | calls {}", names(&tool.pmpi_imports), names(&tool.mpi_calls));
                println!("  fortran {} wrappers, {} imports", tool.fortran_wrappers.len(), tool.fortran_imports.len());
                println!("  unknown {:?} data {:?} {:?}", tool.unknown_mpi, tool.data_imports, tool.data_definitions);
                println!("  dlsym {:?}", tool.dlsym_names);
                println!("  tls {:?} static {} {}", tool.tls, tool.static_tls, tool.static_tls_bytes);
                println!("  undefined {:?}", tool.undefined_elsewhere);
                for hazard in &tool.hazards {
                    println!("  hazard {} ({:?}): {}", hazard.id, hazard.effect, hazard.text);
                }
                let root = tool.closure.root();
                println!("  library {:?} {:?}", abi_family::family_of_library(root), abi_family::library_version(root));
            }
            Err(error) => println!("  {error}\n  hint: {:?}", error.hint()),
        }
    }
}
