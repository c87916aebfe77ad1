// The last rows of gemv_persistent.wgsl's matrix are in another format (as in two_formats.wgsl), and the last workgroups have those.
//# import $weights/2, gemv/dot_limbs_group/2, gemv/loaded/2, gemv/persistent_rows/2
override kFirstRows: u32;
override kSecondAt: u32;
override kFirstGroups: u32;
override kFirstSteps: u32;
override kSecondSteps: u32;

fn assignment_of(group: u32) -> Assignment {
    if (group < kFirstGroups) { return Assignment(group, kFirstGroups, 0u, kFirstRows, 0u, kFirstSteps); }
    return Assignment(group - kFirstGroups, kGroups - kFirstGroups, kFirstRows, kOut, kSecondAt - kFirstRows, kSecondSteps);
}

fn run_assignment(assignment: Assignment, row_group: u32, u: u32, t: u32) {
    if (assignment.first == 0u) {
        run_1(assignment, row_group, u, t);
    } else {
        run_2(assignment, row_group, u, t);
    }
}
