//! prover --job JOB --out FILE: folds each trace to one row, commits to every layer, and writes a digest a layer.
//! prover --verify JOB: does the same on the GPU and on the CPU, and exits with 1 where they differ.

mod ffi;
mod job;
mod plain;

use ffi::{Buffer, Outcome};
use job::Job;
use std::fmt::Write;
use std::{env, fs, process};

fn digest(leaves: &[u32]) -> u32 {
    leaves.iter().fold(1, |sum, &leaf| plain::add(plain::mul(sum, 31), leaf))
}

/// The digests of all layers; the next layer's challenge depends on the last digest.
fn prove(job: &Job, trace: &[u32]) -> Outcome<Vec<u32>> {
    let (mut rows, mut digests, mut layer) = (job.rows, Vec::new(), Buffer::of(trace)?);
    while rows > 1 {
        let columns = ffi::transpose(&layer, rows, job.width)?;
        let root = digest(&ffi::hash(&columns, rows, job.width, job.secure)?.values()?);
        digests.push(root);
        rows /= 2;
        layer = ffi::fold(&layer, rows, job.width, root)?;
    }
    Ok(digests)
}

fn prove_on_cpu(job: &Job, trace: &[u32]) -> Vec<u32> {
    let (mut rows, mut digests, mut layer) = (job.rows, Vec::new(), trace.to_vec());
    while rows > 1 {
        let columns = plain::transpose(&layer, rows, job.width);
        let root = digest(&plain::hash(&columns, rows, job.width, job.secure));
        digests.push(root);
        rows /= 2;
        layer = plain::fold(&layer, rows, job.width, root);
    }
    digests
}

fn run(arguments: &[&str]) -> Outcome<i32> {
    let (path, out) = match arguments {
        ["--job", path, "--out", out] => (path, Some(out)),
        ["--verify", path] => (path, None),
        _ => return Err("usage: prover --job JOB --out FILE, or prover --verify JOB".into()),
    };
    let job = Job::read(path)?;
    if ffi::devices() == 0 {
        return Err("no CUDA device".into());
    }
    let mut text = String::new();
    for proof in 0..job.proofs {
        let trace = job.trace(proof);
        let digests = prove(&job, &trace)?;
        if out.is_none() && digests != prove_on_cpu(&job, &trace) {
            eprintln!("proof {proof} differs from the CPU's");
            return Ok(1);
        }
        let words: Vec<String> = digests.iter().map(|one| format!("{one:08x}")).collect();
        writeln!(text, "{proof} {}", words.join(" ")).expect("a string grows");
    }
    match out {
        Some(out) => fs::write(out, text).map_err(|error| format!("{out}: {error}"))?,
        None => println!("{} proofs are what the CPU computes", job.proofs),
    }
    Ok(0)
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let code = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).unwrap_or_else(|error| {
        eprintln!("prover: {error}");
        2
    });
    process::exit(code);
}
