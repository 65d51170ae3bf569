//! What the GPU computes, once more on the CPU.

pub const PRIME: u64 = 2013265921;

pub fn add(a: u32, b: u32) -> u32 {
    ((a as u64 + b as u64) % PRIME) as u32
}

pub fn mul(a: u32, b: u32) -> u32 {
    (a as u64 * b as u64 % PRIME) as u32
}

pub fn transpose(input: &[u32], rows: usize, cols: usize) -> Vec<u32> {
    (0..rows * cols).map(|at| input[at % rows * cols + at / rows]).collect()
}

pub fn fold(input: &[u32], half: usize, width: usize, challenge: u32) -> Vec<u32> {
    (0..half * width).map(|at| add(input[at], mul(challenge, input[at + half * width]))).collect()
}

/// `input` has a column after the other.
pub fn hash(input: &[u32], rows: usize, width: usize, secure: bool) -> Vec<u32> {
    let rounds = if secure { 8 } else { 4 };
    let digest = |row: usize| {
        (0..width).fold(7, |state, j| {
            (0..rounds).fold(add(state, input[j * rows + row]), |s, r| add(mul(s, mul(s, s)), r + 1))
        })
    };
    (0..rows).map(digest).collect()
}
