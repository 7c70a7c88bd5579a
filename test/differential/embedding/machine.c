// SPDX-License-Identifier: MIT
// The machine: instructions and calls. Written apart from core/bpf/exec, with
// the arithmetic of test/unit/rfc9669.h; every register knows whether it was set.
#include "test/differential/embedding/embed.h"

#include <stdlib.h>
#include <string.h>

#include "core/bpf/verify/feature/callback.h"
#include "core/bpf/verify/feature/iter.h"
#include "test/unit/rfc9669.h"

enum { BUDGET = 64, TURNS = 48 };

struct em_machine em;

void em_charge(void)
{
	em.charged = true;
	em.since = 0;
}

/* ---- memory ---- */

static bool atomic(const struct nb_insn *in, struct em_frame *f)
{
	unsigned size = in->width / 8u;
	uint64_t a = f->reg[in->dst] + (uint64_t)(int64_t)in->off, old, v;
	uint64_t s = f->reg[in->src];

	if (a % size || !em_load(a, size, &old))
		return em.fault ? false : em_fault("misaligned atomic");
	if (size == 4)
		s = (uint32_t)s;
	switch ((int)in->fn) {
	case NB_FN_ADD:
		v = old + s;
		break;
	case NB_FN_OR:
		v = old | s;
		break;
	case NB_FN_AND:
		v = old & s;
		break;
	case NB_FN_XOR:
		v = old ^ s;
		break;
	case NB_FN_XCHG:
		v = s;
		break;
	default:
		v = (size == 4 ? (uint32_t)f->reg[0] : f->reg[0]) == old ? s : old;
		if (!(f->written & 1))
			return em_fault("read of r0");
		break;
	}
	if (!em_store(a, size, v))
		return false;
	em.ran[EM_F_ATOMIC] = true;
	if (in->fn == NB_FN_CMPXCHG)
		f->reg[0] = old;
	else if (in->traits & NB_INSN_FETCH)
		f->reg[in->src] = old;
	return true;
}

static bool load(const struct nb_insn *in, uint64_t a)
{
	uint64_t v;

	if (!em_load(a + (uint64_t)(int64_t)in->off, in->width / 8u, &v))
		return false;
	if (in->traits & NB_INSN_SIGNED)
		v = (uint64_t)nb_sext(v, in->width);
	em_set(in->dst, v);
	return true;
}

/* ---- calls ---- */

static const struct nb_func *func_at(uint32_t pc)
{
	for (uint32_t i = 0; i < em_prog.nfuncs; i++)
		if (em_prog.funcs[i].start == pc)
			return &em_prog.funcs[i];
	return NULL;
}

static struct em_frame *enter(uint32_t to, uint32_t ret)
{
	struct em_frame *f = &em.frames[em.nframes];

	if (em.nframes == NB_MAX_FRAMES) {
		em_fault("too many frames");
		return NULL;
	}
	memset(f, 0, sizeof(*f));
	f->ret = ret;
	f->start = to;
	em.nframes++;
	em_set(NB_R10, em_address(EM_R_STACK + em.nframes - 1, NB_STACK_SIZE));
	em.pc = to;
	return f;
}

static bool local_call(uint32_t to)
{
	struct em_frame *up = em_top(), *f = enter(to, em.pc + 1);
	const struct nb_func *fn = func_at(to);

	if (!f || !fn)
		return em_fault("no function there");
	memcpy(&f->reg[1], &up->reg[1], 5 * sizeof(f->reg[0]));
	f->written |= up->written & 0x3e;
	up->written &= ~0x3fu;
	em.ran[EM_F_CALL] = true;
	return true;
}

/* Turns of a helper that calls back: one more, or its end. */

static bool end_calls(uint64_t r0)
{
	struct em_frame *f = em_top();

	if (f->looping && f->key)
		em.lent[f->key - 1].live = false;
	f->looping = false;
	f->written &= ~0x3fu;
	em_set(0, r0);
	em.pc++;
	return true;
}

/* Element to call back with; false: no more. */
static bool next_element(struct em_frame *f, uint32_t map)
{
	const struct nb_map_spec *s = &em_maps[map];
	bool array = s->type == NB_MAP_ARRAY || s->type == NB_MAP_PERCPU_ARRAY;

	for (; f->cursor < EM_ELEMS; f->cursor++) {
		const struct em_value *v = em_element(map, f->cursor);

		if (array ? f->cursor < s->max_entries : v->used) {
			uint64_t key = array ? f->cursor : v->key;

			memcpy(f->key_bytes, &key, 8);
			return true;
		}
	}
	return false;
}

static void each_args(struct em_frame *up, uint32_t map)
{
	uint64_t value = em_address(EM_R_VALUE + map * EM_ELEMS + up->cursor, 0);

	if (!up->key)
		up->key = em_lend(EM_KEY, up->key_bytes, em_maps[map].key_size, UINT32_MAX) + 1;
	em_set(1, up->reg[1]);
	em_set(2, em_address(EM_R_LENT + up->key - 1, 0));
	em_set(3, value);
	em_set(4, up->reg[3]);
	up->cursor++;
	em.ran[EM_F_EACH] = true;
}

static bool call_back(bool each)
{
	struct em_frame *f = em_top();
	uint32_t region = em_region(f->reg[2]);
	uint32_t map = em_region(f->reg[1]) - EM_R_HANDLE, at = f->invocations;
	uint32_t n = (uint32_t)f->reg[1];
	bool more;

	for (unsigned r = 1; r <= 4; r++)
		if (!em_need(r))
			return false;
	if (region < EM_R_CODE || region >= EM_R_CODE + em_prog.nfuncs)
		return em_fault("no function to call back");
	if (each && map >= em_nmaps)
		return em_fault("no map to walk");
	if (f->looping)
		em_charge();
	if (!f->looping) {
		f->invocations = f->cursor = f->key = at = 0;
		if (f->reg[4])
			return end_calls((uint64_t)-22);
		if (!each && n > NB_LOOP_MAX)
			return end_calls((uint64_t)-7);
	}
	more = each ? next_element(f, map) : at < n;
	if (!more || !em.iterations)
		return end_calls(at);
	em.iterations--;
	f->looping = true;
	f->invocations++;
	if (!enter(em_prog.funcs[region - EM_R_CODE].start, em.pc + 1))
		return false;
	em_top()->callback = true;
	if (each) {
		each_args(f, map);
		return !em.over;
	}
	em.ran[EM_F_LOOP] = true;
	em_set(1, at);
	em_set(2, f->reg[3]);
	return true;
}

static bool end_invocation(uint64_t r0)
{
	struct em_frame *f;

	em.nframes--;
	f = em_top();
	em.pc = em.frames[em.nframes].ret - 1;
	if (r0 > 1)
		return em_fault("a callback answers neither 0 nor 1");
	if (!r0)
		return true;
	em_charge();
	return end_calls(f->invocations);
}

static bool leave(void)
{
	struct em_frame *f = em_top();
	uint64_t r0 = f->reg[0];
	bool set = f->written & 1, last = em.nframes == 1;

	if (!em_leave_frame(em.nframes - 1, last || f->callback))
		return false;
	if (last) {
		em.ended = true;
		return false;
	}
	if (f->callback)
		return em_need(0) && end_invocation(r0);
	em.nframes--;
	em_keep();
	em.pc = f->ret;
	em_top()->reg[0] = r0;
	em_top()->written |= set;
	return true;
}

static bool call(const struct nb_insn *in)
{
	uint32_t to = (uint32_t)((int64_t)em.pc + 1 + in->off);

	if (in->fn == NB_FN_LOCAL)
		return local_call(to);
	if (in->imm == 181 || in->imm == 164)
		return call_back(in->imm == 164);
	if (!em_helper(in->imm))
		return false;
	em.pc++;
	return true;
}

/* ---- one instruction ---- */

static bool lddw(const struct nb_insn *in)
{
	uint64_t v = (uint64_t)in->imm;
	const struct nb_func *fn;

	switch (in->fn) {
	case NB_FN_MAP:
		v = em_address(EM_R_HANDLE + (uint32_t)in->imm, 0);
		break;
	case NB_FN_MAP_VALUE:
		v = em_address(EM_R_VALUE + (uint32_t)in->imm * EM_ELEMS, (uint64_t)in->imm >> 32);
		break;
	case NB_FN_FUNC:
		fn = func_at((uint32_t)((int64_t)em.pc + 1 + in->off));
		if (!fn)
			return em_fault("no function there");
		v = em_address(EM_R_CODE + (uint32_t)(fn - em_prog.funcs), 0);
		break;
	default:
		break;
	}
	em_set(in->dst, v);
	em.pc += 2;
	return true;
}

static bool compute(const struct nb_insn *in, uint64_t b)
{
	bool moves = in->fn == NB_FN_MOV || in->fn == NB_FN_MOVSX8 || in->fn == NB_FN_MOVSX16 ||
		     in->fn == NB_FN_MOVSX32;
	uint64_t a;

	if (in->dst == NB_R10)
		return em_fault("r10 is written");
	if (!moves && !em_need(in->dst))
		return false;
	a = em_top()->reg[in->dst];
	if (in->fn == NB_FN_SUB && in->width == 64 && a == b && em_region(a) >= EM_R_VALUE &&
	    in->src != in->dst)
		em.ran[EM_F_NULLED] = true;
	em_set(in->dst, rfc_alu(in->fn, in->width, a, b));
	return true;
}

static bool jump(const struct nb_insn *in, uint64_t b)
{
	uint32_t at = em.pc, to = (uint32_t)((int64_t)at + 1 + in->off);
	bool pass;

	if (in->kind == NB_KIND_JMP) {
		if (!em_need(in->dst))
			return false;
		em.pc = rfc_jump(in->fn, in->width, em_top()->reg[in->dst], b) ? to : em.pc + 1;
		return true;
	}
	em.pc = to;
	if (in->kind != NB_KIND_MAY_GOTO)
		return true;
	em.ran[EM_F_MAY_GOTO] = true;
	pass = em.budget != 0;
	em.budget -= pass;
	if (pass) {
		em.pc = at + 1;
		em_charge();
	}
	return true;
}

static void note_length(void)
{
	uint32_t *most = em.charged ? &em.iteration : &em.first;

	if (++em.since > *most)
		*most = em.since;
}

bool em_step(void)
{
	const struct nb_insn *in = &em_prog.insns[em.pc];
	struct em_frame *f = em_top();
	uint64_t b = (uint64_t)in->imm;
	bool ok = true;

	note_length();
	if (in->operand == NB_OPND_REG && in->kind != NB_KIND_CALL) {
		if (!em_need(in->src))
			return false;
		b = f->reg[in->src];
	}
	switch ((enum nb_kind)in->kind) {
	case NB_KIND_JMP:
	case NB_KIND_JA:
	case NB_KIND_MAY_GOTO:
		return jump(in, b);
	case NB_KIND_CALL:
		return call(in);
	case NB_KIND_EXIT:
		if (em.nframes == 1 && !em_need(0))
			return false;
		return leave();
	case NB_KIND_LDDW:
		return lddw(in);
	case NB_KIND_ALU:
		ok = compute(in, b);
		break;
	case NB_KIND_LOAD:
		ok = load(in, b);
		break;
	case NB_KIND_STORE:
		ok = em_need(in->dst) &&
		     em_store(f->reg[in->dst] + (uint64_t)(int64_t)in->off, in->width / 8u, b);
		break;
	case NB_KIND_ATOMIC:
		ok = em_need(in->dst) && atomic(in, f);
		break;
	case NB_KIND_LDDW_HI:
		return em_fault("in the middle of an instruction");
	}
	em.pc++;
	return ok;
}

/* ---- what a run begins with ---- */

static uint64_t shared_state;

static uint64_t shared(void)
{
	return em_mix(shared_state++, em.shared);
}

/* Random, or small, or close to what the program compares with. */
static uint64_t input(uint64_t r)
{
	switch (r % 4) {
	case 0:
		return r >> 8 & 0xff;
	case 1:
		return em.nnear ? (uint64_t)em.near[(r >> 8) % em.nnear] + (r >> 40) % 3 - 1 : r;
	default:
		return r;
	}
}

static void collect_near(void)
{
	em.nnear = 0;
	for (uint32_t pc = 0; pc < em_prog.n && em.nnear < EM_NEAR; pc++) {
		const struct nb_insn *in = &em_prog.insns[pc];

		if (in->operand == NB_OPND_IMM &&
		    (in->kind == NB_KIND_JMP || in->kind == NB_KIND_ALU))
			em.near[em.nnear++] = in->imm;
	}
}

/* Coherent content is the same whenever it is looked at. */
struct em_value *em_element(uint32_t map, uint32_t e)
{
	struct em_value *v = &em.maps[map][e];
	bool here = em_map_is_local(map);
	uint64_t state = em_mix(em.shared, map * 64 + e);

	if (em.filled[map] >> e & 1)
		return v;
	em.filled[map] |= (uint16_t)(1u << e);
	v->used = (here ? em_local() : state) >> 9 & 1;
	v->key = e % 8;
	for (unsigned i = 0; i < em_maps[map].value_size; i += 8) {
		uint64_t r = input(here ? em_local() : em_mix(state, i));

		memcpy(v->bytes + i, &r, 8);
	}
	if (em_maps[map].origin == NB_ORIGIN_RODATA && em_maps[map].init && !e)
		memcpy(v->bytes, em_maps[map].init, em_maps[map].value_size);
	return v;
}

static void begin(uint32_t start)
{
	em.nframes = 1;
	em.pc = start;
	memset(&em.frames[0], 0, sizeof(em.frames[0]));
	em.frames[0].start = start;
	em_set(NB_R10, em_address(EM_R_STACK, NB_STACK_SIZE));
}

void em_prepare(uint64_t coherent, uint64_t local)
{
	uint64_t v;

	memset(&em, 0, offsetof(struct em_machine, maps));
	em.steps = em.nlent = em.nobjects = em.nheld = em.pool_used = 0;
	em.over = em.lacks = em.ended = false;
	em.fault = NULL;
	em.shared = em_mix(coherent, 1);
	shared_state = 0;
	collect_near();
	for (unsigned i = 0; i < EM_CTX; i += 4) {
		v = input(shared());
		memcpy(em.ctx + i, &v, 4);
	}
	em.local = em_mix(local, 2) | 1;
	em.salt = em_local() % 1024 * 4096;
	em.region_bits = em_local() % 2 ? EM_HIGH : EM_LOW;
	for (size_t i = 0; i < em_prog.hook->nfields; i++) {
		const struct nb_field_spec *f = &em_prog.hook->fields[i];

		v = em_local() % 3;
		if (f->label == NB_LABEL_LOCAL)
			memcpy(em.ctx + f->off, &v, f->size);
	}
	for (unsigned i = 0; i < em_prog.plain; i++)
		em.plain[i] = (uint8_t)(shared() >> 9);
	em.budget = BUDGET;
	em.iterations = (uint32_t)(shared() % TURNS);
	em.iter_steps = em_iter_steps;
	em.since = em.iteration = em.first = 0;
	em.charged = false;
	begin(0);
	em_set(1, em_address(em_prog.plain ? EM_R_PLAIN : EM_R_CTX, 0));
	if (em_prog.plain)
		em_set(2, em_prog.plain);
}
