// From row kFirstRows on, the rows of gemv.wgsl's matrix are in another format: kernels/link.h puts everything about
// that once more, with names that end in _2. They begin where row kSecondAt would be if all were in that format. A group's
// rows are in one of the two.
//# import $weights/2, $dot/2, gemv/loaded/2, gemv/row_dots/2
override kFirstRows: u32;
override kSecondAt: u32;

struct Ahead { one: Loaded_1, two: Loaded_2 }

fn second_rows(rows: vec4u) -> vec4u { return rows - kFirstRows + kSecondAt; }

fn loaded_ahead(rows: vec4u, u: u32) -> Ahead {
    var out: Ahead;
    if (rows.x < kFirstRows) {
        out.one = loaded_1(rows, u);
    } else {
        out.two = loaded_2(second_rows(rows), u);
    }
    return out;
}

fn all_dots(rows: vec4u, lane: u32, ahead: Ahead) -> vec4f {
    if (rows.x < kFirstRows) { return dots_1(rows, lane, ahead.one); }
    return dots_2(second_rows(rows), lane, ahead.two);
}
