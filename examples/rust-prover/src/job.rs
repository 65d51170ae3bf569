//! A job: what one run proves.

use std::fs;

pub struct Job {
    pub rows: usize,
    pub width: usize,
    pub proofs: usize,
    pub seed: u32,
    pub secure: bool,
}

impl Job {
    /// Read lines `name value`; text after # is a comment.
    pub fn read(path: &str) -> Result<Job, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let mut job = Job { rows: 0, width: 0, proofs: 1, seed: 1, secure: true };
        for line in text.lines().map(|line| line.split('#').next().unwrap_or("").trim()) {
            if line.is_empty() {
                continue;
            }
            let (name, value) = line.split_once(' ').ok_or(format!("{path}: no value: {line}"))?;
            let value: u32 = value.trim().parse().map_err(|_| format!("{path}: no number: {line}"))?;
            match name {
                "rows" => job.rows = value as usize,
                "width" => job.width = value as usize,
                "proofs" => job.proofs = value as usize,
                "seed" => job.seed = value,
                "secure" => job.secure = value != 0,
                _ => return Err(format!("{path}: a job has no {name}")),
            }
        }
        if !job.rows.is_power_of_two() || job.rows < 2 || job.width == 0 {
            return Err(format!("{path}: rows must be a power of two, and width above 0"));
        }
        Ok(job)
    }

    /// The trace of one proof, row by row.
    pub fn trace(&self, proof: usize) -> Vec<u32> {
        let mut state = self.seed.wrapping_add(proof as u32);
        let mut next = || {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            state >> 2
        };
        (0..self.rows * self.width).map(|_| next() % crate::plain::PRIME as u32).collect()
    }
}
