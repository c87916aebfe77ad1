// W is a stack of matrices of kExpertRows rows each: slot s of token t uses number ids[t, s] and has a row of y.
override kTokens: u32 = 1u;   // of the grid; step says how many of several there are
override kExperts: u32;       // slots a token
override kExpertRows: u32;
override kXPerSlot: u32 = 0u;  // 1: each slot has an x of its own
override kYStride: u32;

@group(0) @binding(4) var<storage, read> ids: array<u32>;
@group(0) @binding(5) var<storage, read> step: Step;

fn is_beyond(token: u32) -> bool { return kTokens > 1u && token >= step.tokens; }

fn first_slot(token: u32) -> u32 { return token * kExperts; }

fn base_row(slot: u32) -> u32 { return ids[slot] * kExpertRows; }

fn x_row(token: u32, slot: u32) -> u32 { return select(token, slot, kXPerSlot == 1u); }

fn y_row(slot: u32) -> u32 { return slot * kYStride; }
