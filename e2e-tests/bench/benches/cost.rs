//! Times of every case for every contender, one after the other, so that a machine that slows down slows all alike.

use std::{hint::black_box, time::Duration};

use anyhow::Result;
use bench::{Case, Contender, cases, contender, measured};
use criterion::Criterion;
use e2e_tests::{Metadata, Policy};

fn main() -> Result<()> {
    let contenders = Contender::all()?;
    let mut criterion = Criterion::default()
        .output_directory(&measured::folder())
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(50)
        .nresamples(5_000)
        .without_plots()
        .configure_from_args();
    compile(&mut criterion, &contenders);
    for case in cases::all() {
        evaluate(&mut criterion, &contenders, &case)?;
    }
    criterion.final_summary();
    Ok(())
}

fn evaluate(criterion: &mut Criterion, contenders: &[Contender], case: &Case) -> Result<()> {
    let mut group = criterion.benchmark_group(case.to_string());
    for contender in contenders {
        if case.family.is_growth() && contender.name == contender::TWIN {
            continue;
        }
        case.check(contender)?;
        group.bench_function(contender.name, |bencher| bencher.iter(|| case.evaluate(black_box(&contender.policy))));
    }
    group.finish();
    Ok(())
}

fn compile(criterion: &mut Criterion, contenders: &[Contender]) {
    let mut group = criterion.benchmark_group(measured::COMPILE);
    group.sample_size(10);
    for contender in contenders {
        group.bench_function(contender.name, |bencher| {
            bencher.iter(|| Policy::from_bytes(black_box(&contender.bytes), Metadata::default(), None));
        });
    }
    group.finish();
}
