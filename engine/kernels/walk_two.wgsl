// The last rows of walk.wgsl's matrix are in another format (as in two_formats.wgsl), and the last workgroups have those.
//# import $weights/2, x_planes_unit/2, loaded/2, walk_rows/2
override kFirstRows: u32;
override kSecondAt: u32;
override kFirstGroups: u32;
override kFirstSteps: u32;
override kSecondSteps: u32;

fn way_of(group: u32) -> Way {
    if (group < kFirstGroups) { return Way(group, kFirstGroups, 0u, kFirstRows, 0u, kFirstSteps); }
    return Way(group - kFirstGroups, kGroups - kFirstGroups, kFirstRows, kOut, kSecondAt - kFirstRows, kSecondSteps);
}

fn go_way(way: Way, seat: u32, u: u32, t: u32) {
    if (way.first == 0u) {
        go_1(way, seat, u, t);
    } else {
        go_2(way, seat, u, t);
    }
}
