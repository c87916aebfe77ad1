// An epilogue: gelu(a) · factors[token, row].
const kGate = false;
const kTimes = true;
override kFactorStride: u32;
override kFactorOffset: u32 = 0u;

@group(0) @binding(4) var<storage, read> factors: array<u32>;

// Where a token's factors begin.
fn factors_of(token: u32) -> u32 { return token * kFactorStride + kFactorOffset; }

fn factor(at: u32) -> f32 { return bitcast<f32>(factors[at]); }

fn epilogue(a: f32, b: f32) -> f32 { return gelu(a) * b; }

// With the factor asked for when it is wanted.
fn epilogue_at(token: u32, row: u32, a: f32, b: f32) -> f32 { return gelu(a) * factor(factors_of(token) + row); }
