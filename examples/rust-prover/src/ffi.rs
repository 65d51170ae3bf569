//! The library's functions as safe Rust: device memory that frees itself, and errors instead of numbers.

use std::ptr;

extern "C" {
    fn prover_devices(count: *mut i32) -> i32;
    fn prover_alloc(at: *mut *mut u32, count: usize) -> i32;
    fn prover_free(at: *mut u32) -> i32;
    fn prover_put(to: *mut u32, from: *const u32, count: usize) -> i32;
    fn prover_get(to: *mut u32, from: *const u32, count: usize) -> i32;
    fn prover_transpose(input: *const u32, out: *mut u32, rows: i32, cols: i32) -> i32;
    fn prover_fold(input: *const u32, out: *mut u32, half: i32, width: i32, challenge: u32) -> i32;
    fn prover_hash(input: *const u32, out: *mut u32, rows: i32, width: i32, secure: i32) -> i32;
}

pub type Outcome<T> = Result<T, String>;

fn done(what: &str, error: i32) -> Outcome<()> {
    if error == 0 { Ok(()) } else { Err(format!("{what}: CUDA error {error}")) }
}

pub fn devices() -> usize {
    let mut count = 0;
    let error = unsafe { prover_devices(&mut count) };
    if error == 0 { count as usize } else { 0 }
}

/// Field elements in the device's memory.
pub struct Buffer {
    at: *mut u32,
    len: usize,
}

impl Buffer {
    pub fn new(len: usize) -> Outcome<Self> {
        let mut at = ptr::null_mut();
        done("memory", unsafe { prover_alloc(&mut at, len) })?;
        Ok(Buffer { at, len })
    }

    pub fn of(values: &[u32]) -> Outcome<Self> {
        let buffer = Buffer::new(values.len())?;
        done("copy", unsafe { prover_put(buffer.at, values.as_ptr(), values.len()) })?;
        Ok(buffer)
    }

    pub fn values(&self) -> Outcome<Vec<u32>> {
        let mut values = vec![0; self.len];
        done("copy", unsafe { prover_get(values.as_mut_ptr(), self.at, self.len) })?;
        Ok(values)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        unsafe { prover_free(self.at) };
    }
}

pub fn transpose(input: &Buffer, rows: usize, cols: usize) -> Outcome<Buffer> {
    let out = Buffer::new(rows * cols)?;
    done("transpose", unsafe { prover_transpose(input.at, out.at, rows as i32, cols as i32) })?;
    Ok(out)
}

pub fn fold(input: &Buffer, half: usize, width: usize, challenge: u32) -> Outcome<Buffer> {
    let out = Buffer::new(half * width)?;
    done("fold", unsafe { prover_fold(input.at, out.at, half as i32, width as i32, challenge) })?;
    Ok(out)
}

pub fn hash(input: &Buffer, rows: usize, width: usize, secure: bool) -> Outcome<Buffer> {
    let out = Buffer::new(rows)?;
    done("hash", unsafe { prover_hash(input.at, out.at, rows as i32, width as i32, secure as i32) })?;
    Ok(out)
}
