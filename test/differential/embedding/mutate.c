// SPDX-License-Identifier: MIT
// Changes of a program: at random, or of what a finding complains of.
#include "test/differential/embedding/mutate.h"

static const uint8_t alu_ops[] = { 0x00, 0x10, 0x20, 0x30, 0x40, 0x50,
				   0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0 };
static const uint8_t jmp_ops[] = {
	0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0
};
static const uint8_t ldx_ops[] = { 0x71, 0x69, 0x61, 0x79 };
static const uint8_t ldxs_ops[] = { 0x91, 0x89, 0x81 };
static const uint8_t stx_ops[] = { 0x73, 0x6b, 0x63, 0x7b };
static const uint8_t st_ops[] = { 0x72, 0x6a, 0x62, 0x7a };

static struct nb_slot slot_of(uint8_t op, unsigned dst, int32_t imm)
{
	return (struct nb_slot){ op, (uint8_t)dst, 0, imm };
}

/* Is this slot the second half of an LDDW? */
static bool is_high(const struct nb_slot *slots, uint32_t pc)
{
	bool high = false;

	for (uint32_t i = 0; i < pc; i++)
		high = !high && slots[i].opcode == 0x18;
	return high;
}

static uint8_t other_opcode(uint8_t op, struct rng *r)
{
	uint8_t cls = op & 7;

	switch (cls) {
	case 4:
	case 7:
		if (rng_percent(r, 30))
			return op ^ 3;
		return (uint8_t)(alu_ops[rng_below(r, sizeof(alu_ops))] | (op & 8) | cls);
	case 5:
	case 6:
		if ((op & 0xf0) == 0x80 || (op & 0xf0) == 0x90 || (op & 0xf0) == 0)
			return op;
		if (rng_percent(r, 30))
			return op ^ 3;
		return (uint8_t)(jmp_ops[rng_below(r, sizeof(jmp_ops))] | (op & 8) | cls);
	case 1:
		return rng_percent(r, 20) ? ldxs_ops[rng_below(r, 3)] : ldx_ops[rng_below(r, 4)];
	case 2:
		return st_ops[rng_below(r, 4)];
	case 3:
		return (op & 0xe0) == 0xc0 ? op ^ 0x18 : stx_ops[rng_below(r, 4)];
	default:
		return op;
	}
}

static void mutate_number(int32_t *imm, struct rng *r)
{
	switch (rng_below(r, 6)) {
	case 0:
		*imm = (int32_t)rng_next(r);
		break;
	case 1:
		*imm = (int32_t)(0u - (uint32_t)*imm);
		break;
	case 2:
		*imm = (int32_t)((1u << rng_below(r, 32)) - rng_below(r, 2));
		break;
	case 3:
		*imm = (int32_t)((uint32_t)*imm << 1);
		break;
	default:
		*imm = (int32_t)((uint32_t)*imm + (uint32_t)rng_between(r, -2, 2));
		break;
	}
}

/* Reserved fields back to 0, or decoding would be all that is tested. */
static void tidy(struct nb_slot *s)
{
	uint8_t cls = s->opcode & 7;
	bool reg = s->opcode & 8;

	if (cls == 1 || (cls == 3 && (s->opcode & 0xe0) != 0xc0))
		s->imm = 0;
	if (cls == 2)
		s->regs &= 15;
	if (s->opcode == 0x95)
		*s = slot_of(0x95, 0, 0);
	if (cls < 4 || (s->opcode & 0xf0) == 0xd0)
		return;
	if (cls == 4 || cls == 7 || (s->opcode & 0xf0) == 0) {
		if (reg)
			s->imm = 0;
		else
			s->regs &= 15;
	}
	if ((cls == 4 || cls == 7) && s->off != 1 && s->off != 8 && s->off != 16 && s->off != 32)
		s->off = 0;
	if ((cls == 5 || cls == 6) && (s->opcode & 0xf0) != 0x80 && (s->opcode & 0xf0) != 0x90) {
		if (reg)
			s->imm = 0;
		else
			s->regs &= 15;
	}
}

static void mutate_one(struct nb_slot *slots, uint32_t n, uint32_t pc, struct rng *r)
{
	struct nb_slot *s = &slots[pc], t;
	uint32_t other;
	int16_t offs[] = { -8, -4, -1, 1, 4, 8, -16, 16 };

	switch (rng_below(r, 8)) {
	case 0:
	case 1:
		mutate_number(&s->imm, r);
		break;
	case 2:
		s->off = (int16_t)(s->off + offs[rng_below(r, 8)]);
		break;
	case 3:
		s->regs = (uint8_t)((s->regs & 0xf0) | rng_below(r, 11));
		break;
	case 4:
		s->regs = (uint8_t)((s->regs & 0x0f) | rng_below(r, 11) << 4);
		break;
	case 5:
		s->opcode = other_opcode(s->opcode, r);
		break;
	case 6:
		if (s->opcode != 0x18)
			*s = slot_of(0x05, 0, 0);
		break;
	default: /* exchange with another */
		other = rng_below(r, n);
		if (s->opcode == 0x18 || slots[other].opcode == 0x18 || is_high(slots, other))
			break;
		t = *s;
		*s = slots[other];
		slots[other] = t;
		break;
	}
	if (s->opcode != 0x18 && rng_percent(r, 95))
		tidy(s);
}

void slots_mutate(struct nb_slot *slots, uint32_t n, uint32_t k, struct rng *r)
{
	while (k--) {
		uint32_t pc = rng_below(r, n);

		if (!is_high(slots, pc))
			mutate_one(slots, n, pc, r);
	}
}

static void quiet(struct nb_slot *slots, uint32_t pc, struct rng *r)
{
	struct nb_slot *s = &slots[pc];
	unsigned dst = s->regs & 15;

	switch (s->opcode & 7) {
	case 0: /* an LDDW: a plain number */
		*s = slot_of(0x18, dst < 10 ? dst : 0, s->imm);
		break;
	case 1:
	case 4:
	case 7:
		*s = slot_of(0xb7, dst < 10 ? dst : 0, rng_between(r, 0, 7));
		break;
	case 5:
		if (s->opcode == 0x85)
			*s = slot_of(0xb7, 0, rng_between(r, 0, 7));
		else
			*s = slot_of(0x05, 0, 0);
		break;
	default:
		*s = slot_of(0x05, 0, 0);
		break;
	}
}

/* A slot before an exit gives r0 a number. */
static bool number_before(struct nb_slot *slots, uint32_t pc)
{
	if (!pc || is_high(slots, pc - 1) || slots[pc - 1].opcode == 0x95)
		return false;
	slots[pc - 1] = slot_of(0xb7, 0, 0);
	return true;
}

bool slots_repair(struct nb_slot *slots, uint32_t n, const struct nb_finding *f, struct rng *r)
{
	uint32_t pc = f->pc;

	if (pc >= n || is_high(slots, pc))
		return false;
	switch ((int)f->cls) {
	case NB_FIND_UNREACHABLE:
		if (!pc || is_high(slots, pc - 1))
			return false;
		slots[pc - 1] = slot_of(0x05, 0, 0);
		return true;
	case NB_FIND_LOOP:
	case NB_FIND_COMPLEXITY:
	case NB_FIND_MEMORY:
		for (uint32_t i = 0; i < n; i++)
			if (slots[i].off < 0 && !is_high(slots, i) &&
			    ((slots[i].opcode & 7) == 5 || (slots[i].opcode & 7) == 6) &&
			    (int64_t)i + 1 + slots[i].off <= pc) {
				slots[i] = slot_of(0x05, 0, 0);
				return true;
			}
		return false;
	case NB_FIND_FALL_OFF:
	case NB_FIND_CALL_TARGET:
	case NB_FIND_RECURSION:
	case NB_FIND_STACK_DEPTH:
	case NB_FIND_FUNCS:
		return false;
	default:
		break;
	}
	if (f->cls == NB_FIND_ENCODING && slots[pc].opcode == 0x95) {
		slots[pc] = slot_of(0x95, 0, 0);
		return true;
	}
	/* A harmless jump where the function ends. */
	if (f->cls == NB_FIND_JUMP_RANGE && slots[pc].opcode == 0x05 && !slots[pc].off) {
		slots[pc] = slot_of(0x95, 0, 0);
		return true;
	}
	if (slots[pc].opcode == 0x95)
		return number_before(slots, pc);
	if (f->cls == NB_FIND_UNINIT && f->reg >= 0 && f->reg < 10 && pc && rng_percent(r, 30) &&
	    !is_high(slots, pc - 1) && slots[pc - 1].opcode != 0x95 &&
	    (slots[pc - 1].opcode & 7) != 5) {
		slots[pc - 1] = slot_of(0xb7, (unsigned)f->reg, rng_between(r, 0, 7));
		return true;
	}
	quiet(slots, pc, r);
	return true;
}
