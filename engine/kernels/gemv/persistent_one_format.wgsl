// All rows of gemv_persistent.wgsl's matrix are in one format.
fn assignment_of(group: u32) -> Assignment { return Assignment(group, kGroups, 0u, kOut, 0u, kSteps); }

fn run_assignment(assignment: Assignment, row_group: u32, u: u32, t: u32) { run_1(assignment, row_group, u, t); }
