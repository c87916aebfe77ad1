// All rows of walk.wgsl's matrix are in one format.
fn way_of(group: u32) -> Way { return Way(group, kGroups, 0u, kOut, 0u, kSteps); }

fn go_way(way: Way, seat: u32, u: u32, t: u32) { go_1(way, seat, u, t); }
