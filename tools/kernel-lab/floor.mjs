// What a token would take if its products did nothing but read their weights, in order; what it takes less is what
// computing costs, and reading in another order.
const vecs = 4; // that a thread reads

const reading = (w, y) => `
@group(0) @binding(${w}) var<storage, read> w: array<vec4u>;
@group(0) @binding(${y}) var<storage, read_write> y: array<u32>;

fn at(i: u32) -> vec4u { return w[min(i, arrayLength(&w) - 1u)]; }

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let first = ${256 * vecs}u * group.x + t;
    let v = ${Array.from({ length: vecs }, (_, i) => `at(first + ${256 * i}u)`).join(' ^ ')};
    if ((v.x ^ v.y ^ v.z ^ v.w) == 0x12345678u) { y[0] = 1u; }  // hardly ever, but the compiler cannot know
}`;

/** What multiplies with a matrix: a vector at a time. */
const products = ['gemv', 'gemv_persistent'];

/** The products whose name says `what`. */
function read(what) {
    return {
        name: `only read: ${what || 'all products'}`,
        edit: ({ label, binding, bytes }) => {
            if (!products.includes(label.split('.')[0]) || !label.includes(what)) return undefined;
            const w = binding('w');
            return { code: reading(w, binding('y')), constants: {}, grid: [Math.ceil(bytes[w] / (16 * 256 * vecs)), 1, 1] };
        },
    };
}

export const variants = [{ name: 'as it is' }, read(''), read('.q4_k'), read('.q6_k'), read('.bf16')];
