// Two half floats a word.
const kPerWord = 2u;
const kHasScales = false;
const kRowScale = false;
const kVecsAScale = 128u;
override kScaleVecs: u32 = 0u;

fn kv_values(word: u32) -> vec4f { return vec4f(unpack2x16float(word), 0.0, 0.0); }
fn kv_word(x: vec4f, scale: f32) -> u32 { return pack_halves(x.xy); }
fn kv_scale(scales: vec4u, i: u32) -> f32 { return 1.0; }
fn own_scale(first: u32, i: u32) -> f32 { return 1.0; }
fn own_scales(first: u32, i: u32) -> vec4u { return vec4u(); }
