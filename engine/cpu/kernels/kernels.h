// What each kind of op does, for a part of its items. Code without a C++ library.
#pragma once

#include "cpu/kernels/memory.h"

namespace lapidary::cpu {

void embed(const Memory& memory, const EmbedOp& op, const Step& step, Part part, bool own_rows);
void add_column(const Memory& memory, const AddColumnOp& op, const Step& step, Part part);
void angles(const Memory& memory, const AnglesOp& op, const Step& step, Part part);
void norm(const Memory& memory, const NormOp& op, Part part);
void digits(const Memory& memory, const DigitsOp& op, Part part);
void product(const Memory& memory, const ProductOp& op, const Step& step, Part part);
void gelu_gate(const Memory& memory, const GeluGateOp& op, Part part);
void heads(const Memory& memory, const HeadsOp& op, const Step& step, Part part);
void attend(const Memory& memory, const AttendOp& op, const Step& step, Part part);
void layer_inputs(const Memory& memory, const LayerInputsOp& op, Part part);
void route(const Memory& memory, const RouteOp& op, Part part);
void experts(const Memory& memory, const ExpertsOp& op, const Step& step, Part part);
void combine(const Memory& memory, const CombineOp& op, Part part);
void softcap(const Memory& memory, const SoftcapOp& op, Part part);
void pack(const Memory& memory, const PackOp& op, Part part);

// How many items an op has, and some of them done.
uint32_t items_of(const Op& op, const Step& step);
void run_part(const Memory& memory, const Op& op, const Step& step, Part part);

}  // namespace lapidary::cpu
