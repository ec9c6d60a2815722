//! Times of every case for every contender, each in turns with the same small evaluation of the floor.

use std::{hint::black_box, time::Duration};

use anyhow::{Context, Result};
use bench::{Contender, Turns, contender, measured};
use criterion::Criterion;
use e2e_tests::{
    Module,
    cost::{Case, cases},
};

fn main() -> Result<()> {
    let contenders = Contender::all()?;
    let mut criterion = Criterion::default()
        .output_directory(&measured::folder())
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(700))
        .sample_size(50)
        .nresamples(5_000)
        .without_plots()
        .configure_from_args();
    let mut turns = Turns::with(&contenders, cases::smallest())?;
    compile(&mut criterion, &contenders, &mut turns)?;
    for case in cases::all() {
        evaluate(&mut criterion, &contenders, &case, &mut turns)?;
    }
    turns.finish()?;
    criterion.final_summary();
    Ok(())
}

fn evaluate(criterion: &mut Criterion, contenders: &[Contender], case: &Case, turns: &mut Turns<'_>) -> Result<()> {
    let name = case.to_string();
    let mut group = criterion.benchmark_group(&name);
    let policy = contenders.iter().find(|contender| contender.name == contender::POLICY).context("no policy")?;
    let limit = Contender::limit(case, policy)?;
    for contender in contenders.iter().chain([&limit]) {
        if !case.family.has_twin() && contender.name == contender::TWIN {
            continue;
        }
        contender.check(case)?;
        let run = || drop(black_box(case.evaluate(black_box(&contender.policy))));
        group.bench_function(contender.name, |bencher| bencher.iter_custom(|runs| turns.sample(runs, run)));
        turns.keep(&name, contender.name)?;
    }
    group.finish();
    Ok(())
}

fn compile(criterion: &mut Criterion, contenders: &[Contender], turns: &mut Turns<'_>) -> Result<()> {
    let mut group = criterion.benchmark_group(measured::COMPILE);
    group.sample_size(10);
    for contender in contenders {
        let run = || drop(black_box(Module::new(black_box(&contender.bytes)).and_then(|module| module.policy(None))));
        group.bench_function(contender.name, |bencher| bencher.iter_custom(|runs| turns.sample(runs, run)));
        turns.keep(measured::COMPILE, contender.name)?;
    }
    group.finish();
    Ok(())
}
