// Which op is what.
#include "cpu/kernels/kernels.h"
#include "cpu/packed.h"

namespace lapidary::cpu {

uint32_t items_of(const Op& op, const Step& step) {
    switch (op.kind) {
        case Kind::product: return (op.product.w.rows + 7) / 8;
        case Kind::experts: return (op.experts.w.rows + 7) / 8;
        case Kind::digits: return step.count * op.digits.per_token;
        case Kind::gelu_gate: return step.count * op.gelu_gate.per_token;
        case Kind::heads: {
            const HeadsOp& h = op.heads;
            return step.count * ((h.with_queries != 0 ? h.heads : 0) + (h.keys != 0 ? 2 * h.kv_heads : 0));
        }
        case Kind::attend: return step.count * op.attend.kv_heads;
        case Kind::pack: return (op.pack.count + 7) / 8;
        default: return step.count;
    }
}

void run_part(const Memory& memory, const Op& op, const Step& step, Part part) {
    switch (op.kind) {
        case Kind::embed: return embed(memory, op.embed, step, part, false);
        case Kind::embed_rows: return embed(memory, op.embed, step, part, true);
        case Kind::angles: return angles(memory, op.angles, step, part);
        case Kind::norm: return norm(memory, op.norm, part);
        case Kind::digits: return digits(memory, op.digits, part);
        case Kind::product: return product(memory, op.product, step, part);
        case Kind::gelu_gate: return gelu_gate(memory, op.gelu_gate, part);
        case Kind::heads: return heads(memory, op.heads, step, part);
        case Kind::attend: return attend(memory, op.attend, step, part);
        case Kind::layer_inputs: return layer_inputs(memory, op.layer_inputs, part);
        case Kind::route: return route(memory, op.route, part);
        case Kind::experts: return experts(memory, op.experts, step, part);
        case Kind::combine: return combine(memory, op.combine, part);
        case Kind::softcap: return softcap(memory, op.softcap, part);
        case Kind::add_column: return add_column(memory, op.add_column, step, part);
        case Kind::pack: return pack(memory, op.pack, part);
    }
}

}  // namespace lapidary::cpu
