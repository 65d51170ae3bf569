//! Compiles the CUDA sources into a static library with nvcc, and links CUDA's static runtime.
//! NVCC names another compiler than the one on PATH, CUDA_ARCH another architecture than sm_80.

use std::env;
use std::path::Path;
use std::process::Command;

const SOURCES: [&str; 4] = ["gpu/device.cu", "gpu/transpose.cu", "gpu/fold.cu", "gpu/hash.cu"];

fn main() {
    for name in ["NVCC", "CUDA_ARCH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=gpu");
    let nvcc = env::var("NVCC").unwrap_or("nvcc".into());
    let arch = env::var("CUDA_ARCH").unwrap_or("sm_80".into());
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let made = Command::new(&nvcc)
        .args(["-lib", "-O3", "-std=c++17", "-Igpu", "-DPROVER_FIELD=2013265921u", "-Xcompiler", "-fPIC"])
        .arg(format!("-arch={arch}"))
        .args(SOURCES)
        .args(["-o", &format!("{out}/libkernels.a")])
        .status();
    match made {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{nvcc} ended with {status}"),
        Err(error) => panic!("{nvcc} cannot be run: {error}"),
    }
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=kernels");
    link_runtime(&nvcc, &out);
    for library in ["stdc++", "dl", "pthread", "rt"] {
        println!("cargo:rustc-link-lib=dylib={library}");
    }
}

/// Link CUDA's static runtime of the compiler's toolkit. A compiler without a toolkit brings its own in its objects.
fn link_runtime(nvcc: &str, out: &str) {
    let said = Command::new(nvcc).args(["--dryrun", "-c", "gpu/device.cu", "-o", &format!("{out}/none.o")]).output();
    let said = String::from_utf8_lossy(&said.expect("it ran before").stderr).into_owned();
    let Some(top) = said.lines().find_map(|line| line.strip_prefix("#$ TOP=")) else { return };
    let folders = ["lib64", "lib", "targets/x86_64-linux/lib"].map(|name| format!("{}/{name}", top.trim()));
    let found = folders.iter().find(|folder| Path::new(folder).join("libcudart_static.a").exists());
    println!("cargo:rustc-link-search=native={}", found.expect("the toolkit has no libcudart_static.a"));
    println!("cargo:rustc-link-lib=static=cudart_static");
}
