// SPDX-License-Identifier: MIT
// The shadow interpreter: see shadow.h. Maps are small tables of bytes; local
// maps are filled from the local seed and may change between two loads, as if
// another thread wrote them. A hash's elements lie where they are when they
// are deleted, as in core/map.
#include "test/differential/oracle/shadow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/differential/oracle/shadow_parts.h"

static const char *const words[] = {
	"none",	     "uninitialised", "bounds", "access", "dangling",
	"alignment", "wild",	      "return", "steps",  "aux facts"
};

const char *shadow_fault_word(enum sh_fault f)
{
	return words[f];
}

static bool is_move(const struct nb_insn *in)
{
	return in->fn == NB_FN_MOV || in->fn == NB_FN_MOVSX8 || in->fn == NB_FN_MOVSX16 ||
	       in->fn == NB_FN_MOVSX32;
}

static struct val operand(struct shadow *s, const struct nb_insn *in)
{
	if (in->operand != NB_OPND_REG)
		return sh_number((uint64_t)in->imm);
	if (s->r[in->src].kind == UNDEF)
		sh_fail(s, SH_UNINIT, "r%d was never written", in->src);
	return s->r[in->src];
}

static void check_nonzero(struct shadow *s, const struct nb_insn *in, uint64_t b)
{
	bool division = in->fn == NB_FN_DIV || in->fn == NB_FN_MOD || in->fn == NB_FN_SDIV ||
			in->fn == NB_FN_SMOD;

	if (division && s->in->aux && s->in->aux[s->pc] & NB_AUX_NONZERO &&
	    !sh_trunc_to(b, in->width == 64 ? 64 : 32))
		sh_fail(s, SH_AUX, "a divisor that is never 0 is 0");
}

static void alu(struct shadow *s, const struct nb_insn *in)
{
	struct val *d = &s->r[in->dst], b = operand(s, in), v;
	bool move = is_move(in), keeps;

	if (in->dst == NB_R10)
		sh_fail(s, SH_WILD, "r10 is written");
	if (!move && d->kind == UNDEF)
		sh_fail(s, SH_UNINIT, "r%d was never written", in->dst);
	if (in->fn == NB_FN_LE || in->fn == NB_FN_BE || in->fn == NB_FN_BSWAP) {
		v = sh_number(in->fn == NB_FN_LE ? sh_trunc_to(d->v, in->width)
						 : sh_swap_bytes(d->v, in->width));
		*d = v;
		return;
	}
	check_nonzero(s, in, b.v);
	v = sh_number(sh_trunc_to(sh_compute(in, d->v, b.v), in->width));
	/* Only whole moves, and sums with one number, stay addresses. */
	keeps = in->width == 64;
	if (keeps && in->fn == NB_FN_MOV) {
		v = b;
	} else if (keeps && (in->fn == NB_FN_ADD || in->fn == NB_FN_SUB) && d->kind == POINTER &&
		   b.kind == NUMBER) {
		v.kind = POINTER;
		v.region = d->region;
	} else if (keeps && in->fn == NB_FN_ADD && d->kind == NUMBER && b.kind == POINTER) {
		v.kind = POINTER;
		v.region = b.region;
	}
	*d = v;
}

/* ---- atomics ------------------------------------------------------------ */

static void atomic(struct shadow *s, const struct nb_insn *in)
{
	const struct val *p = &s->r[in->dst];
	struct val src = s->r[in->src], old, now;
	uint32_t size = in->width / 8u;

	if (src.kind == UNDEF)
		sh_fail(s, SH_UNINIT, "r%d was never written", in->src);
	if ((p->v + (uint64_t)(int64_t)in->off) % size)
		sh_fail(s, SH_ALIGN, "atomic of %u bytes at 0x%" PRIx64, size,
			p->v + (uint64_t)(int64_t)in->off);
	old = sh_mem_load(s, p, in->off, size);
	if (s->out->fault)
		return;
	/* An address taken apart is a number. */
	old = sh_number(sh_trunc_to(old.v, in->width));
	now = old;
	switch ((int)in->fn) {
	case NB_FN_ADD:
		now.v += src.v;
		break;
	case NB_FN_OR:
		now.v |= src.v;
		break;
	case NB_FN_AND:
		now.v &= src.v;
		break;
	case NB_FN_XOR:
		now.v ^= src.v;
		break;
	case NB_FN_XCHG:
		now.v = src.v;
		break;
	default:
		if (s->r[0].kind == UNDEF)
			sh_fail(s, SH_UNINIT, "r0 was never written");
		if (old.v == sh_trunc_to(s->r[0].v, in->width))
			now.v = src.v;
		break;
	}
	sh_mem_store(s, p, in->off, size, &now);
	if (in->fn == NB_FN_CMPXCHG)
		s->r[0] = old;
	else if (in->traits & NB_INSN_FETCH)
		s->r[in->src] = old;
}

/* ---- helpers ------------------------------------------------------------ */

static bool map_arg(struct shadow *s, uint32_t *map)
{
	if (s->r[1].kind != HANDLE || s->r[1].region == NO_MAP) {
		sh_fail(s, SH_WILD, "r1 is no map");
		return false;
	}
	*map = s->r[1].region;
	return true;
}

static struct val call_lookup(struct shadow *s)
{
	uint8_t key[NB_IMAGE_MAX_KEY];
	struct elem *x;
	uint32_t map, i;

	if (!map_arg(s, &map) || !sh_mem_copy(s, &s->r[2], s->img->maps[map].key_size, key))
		return sh_number(0);
	if (sh_is_hash(&s->img->maps[map])) {
		/* What is in a local hash, others change at any time. */
		if (sh_is_local(&s->img->maps[map]) && s->maps[map].n &&
		    rng_percent(&s->local, 50)) {
			x = &s->maps[map].elem[rng_below(&s->local, s->maps[map].n)];
			return rng_percent(&s->local, 50)
				       ? sh_number(0)
				       : sh_value_at(s, map, (uint32_t)(x - s->maps[map].elem), 0);
		}
		x = sh_hash_find(s, map, key);
		if (!x)
			return sh_number(0);
		return sh_value_at(s, map, (uint32_t)(x - s->maps[map].elem), 0);
	}
	memcpy(&i, key, 4);
	if (i >= s->img->maps[map].max_entries)
		return sh_number(0);
	return sh_value_at(s, map, i < s->maps[map].n ? i : s->maps[map].n - 1, 0);
}

static struct val call_update(struct shadow *s)
{
	uint8_t key[NB_IMAGE_MAX_KEY];
	const struct nb_map_spec *m;
	uint32_t map, i;
	struct elem *x;

	if (!map_arg(s, &map))
		return sh_number(0);
	m = &s->img->maps[map];
	if (!sh_mem_copy(s, &s->r[2], m->key_size, key) ||
	    !sh_mem_copy(s, &s->r[3], m->value_size, NULL))
		return sh_number(0);
	if (s->r[4].kind == UNDEF)
		sh_fail(s, SH_UNINIT, "r4 was never written");
	if (m->flags & NB_F_RDONLY_PROG || !sh_is_local(m))
		sh_fail(s, SH_ACCESS, "map %u is read-only", map);
	memcpy(&i, key, 4);
	x = sh_is_hash(m) ? sh_hash_find(s, map, key)
			  : &s->maps[map].elem[i < s->maps[map].n ? i : 0];
	if (!x)
		x = &s->maps[map].elem[rng_below(&s->local, s->maps[map].n)];
	x->present = true;
	memcpy(x->key, key, m->key_size);
	sh_mem_copy(s, &s->r[3], m->value_size, x->value);
	return sh_number(sh_edge(&s->local, s->in));
}

static struct val call_delete(struct shadow *s)
{
	uint8_t key[NB_IMAGE_MAX_KEY];
	struct elem *x;
	uint32_t map;

	if (!map_arg(s, &map) || !sh_mem_copy(s, &s->r[2], s->img->maps[map].key_size, key))
		return sh_number(0);
	if (s->img->maps[map].flags & NB_F_RDONLY_PROG || !sh_is_local(&s->img->maps[map]))
		sh_fail(s, SH_ACCESS, "map %u is read-only", map);
	x = sh_is_hash(&s->img->maps[map]) ? sh_hash_find(s, map, key) : NULL;
	if (x)
		x->present = false;
	return sh_number(sh_edge(&s->local, s->in));
}

static struct val call_printk(struct shadow *s)
{
	if (s->r[2].kind != NUMBER)
		sh_fail(s, SH_UNINIT, "r2 is no size");
	else if (s->r[2].v == 0 || s->r[2].v > INT32_MAX)
		sh_fail(s, SH_BOUNDS, "size %" PRIu64, s->r[2].v);
	else
		sh_mem_copy(s, &s->r[1], s->r[2].v, NULL);
	return sh_number(sh_edge(&s->local, s->in));
}

static void helper(struct shadow *s, int64_t id)
{
	struct val r0 = sh_number(0);

	switch (id) {
	case 1:
		r0 = call_lookup(s);
		break;
	case 2:
		r0 = call_update(s);
		break;
	case 3:
		r0 = call_delete(s);
		break;
	case 6:
		r0 = call_printk(s);
		break;
	case 5:
		r0 = sh_number(sh_edge(&s->local, s->in));
		break;
	case 7:
		r0 = sh_number((uint32_t)sh_edge(&s->local, s->in));
		break;
	case 8:
		r0 = sh_number(s->cpu);
		break;
	default:
		sh_fail(s, SH_WILD, "helper %" PRId64, id);
		break;
	}
	for (int i = 1; i <= 5; i++)
		s->r[i].kind = UNDEF;
	s->r[0] = r0;
}

/* ---- control ------------------------------------------------------------ */

static void enter(struct shadow *s, uint32_t ret)
{
	struct frame *f;

	if (s->nframes == MAX_FRAMES) {
		sh_fail(s, SH_WILD, "more than %d frames", MAX_FRAMES);
		return;
	}
	f = &s->frames[s->nframes];
	memset(f->init, 0, sizeof(f->init));
	memset(f->whole, 0, sizeof(f->whole));
	f->callback = false;
	f->ret = ret;
	memcpy(f->saved, &s->r[6], sizeof(f->saved));
	for (int i = 6; i <= 9; i++)
		s->r[i].kind = UNDEF;
	s->r[0].kind = UNDEF;
	f->region = sh_region_new(s, IN_STACK, s->nframes, f->bytes, NB_STACK_SIZE);
	s->nframes++;
	s->r[NB_R10] = sh_pointer(s, f->region, NB_STACK_SIZE);
}

/* ---- callbacks ---------------------------------------------------------- */

static void turned(struct shadow *s, struct frame *f, const struct val *r0);

/* Arguments of the turn that begins; false: no element is left. */
static bool turn_args(struct shadow *s, struct frame *f, struct val r[4])
{
	struct map *m = &s->maps[f->map == NO_MAP ? 0 : f->map];
	uint32_t e = (uint32_t)f->turn;

	r[0] = sh_number(f->turn);
	r[1] = f->ctx;
	r[2] = r[3] = (struct val){ 0, UNDEF, 0 };
	if (f->map == NO_MAP)
		return true;
	if (e >= m->n)
		return false;
	memcpy(f->key_bytes, m->elem[e].key, s->img->maps[f->map].key_size);
	if (!sh_is_hash(&s->img->maps[f->map]))
		memcpy(f->key_bytes, &e, 4);
	if (!f->key)
		f->key = sh_region_new(s, IN_KEY, f->map, f->key_bytes,
				       s->img->maps[f->map].key_size);
	r[0] = (struct val){ 0x400000000000ull + f->map * 4096u, HANDLE, (uint16_t)f->map };
	r[1] = sh_pointer(s, f->key, 0);
	r[2] = sh_value_at(s, f->map, e, 0);
	r[3] = f->ctx;
	return true;
}

/* Enter the callback for turn f->turn, or be done: r0 tells the turns. */
static void turn(struct shadow *s, struct frame *f, bool stop)
{
	struct frame keep;
	struct val r[4];

	/* Elements of a hash that are not there are passed by. */
	while (!stop && f->map != NO_MAP && f->turn < s->maps[f->map].n &&
	       !s->maps[f->map].elem[f->turn].present)
		f->turn++;
	if (stop || (f->map == NO_MAP && f->turn >= f->n) || !turn_args(s, f, r)) {
		for (int i = 1; i <= 5; i++)
			s->r[i].kind = UNDEF;
		if (f->key)
			s->regions[f->key].dead = true;
		s->r[0] = sh_number(f->n);
		if (f->map == NO_MAP && f->turn < f->n)
			s->r[0] = sh_number(f->turn);
		s->pc = f->ret;
		return;
	}
	keep = *f;
	enter(s, f->ret);
	if (s->out->fault)
		return;
	f->callback = true;
	f->n = keep.n;
	f->turn = keep.turn;
	f->to = keep.to;
	f->map = keep.map;
	f->key = keep.key;
	memcpy(f->key_bytes, keep.key_bytes, sizeof(f->key_bytes));
	f->ctx = keep.ctx;
	if (f->key)
		s->regions[f->key].bytes = f->key_bytes;
	for (int i = 1; i <= 5; i++)
		s->r[i] = i <= 4 ? r[i - 1] : (struct val){ 0, UNDEF, 0 };
	s->pc = f->to;
}

/* A turn ended with @r0. */
static void turned(struct shadow *s, struct frame *f, const struct val *r0)
{
	if (r0->kind != NUMBER || r0->v > 1)
		sh_fail(s, SH_RETURN, "a callback returns %s",
			r0->kind == NUMBER ? "more than 1" : "no number");
	f->turn++;
	if (f->map != NO_MAP)
		f->n++;
	turn(s, f, r0->v == 1);
}

/* bpf_loop and bpf_for_each_map_elem */
static void call_back(struct shadow *s, int64_t id, uint32_t ret)
{
	struct frame *f = &s->frames[s->nframes];
	struct val fn = s->r[2];
	uint64_t r0 = 0;

	for (int i = 1; i <= 4; i++)
		if (s->r[i].kind == UNDEF)
			sh_fail(s, SH_UNINIT, "r%d was never written", i);
	if (fn.kind != HANDLE || fn.region != NO_MAP || s->nframes == MAX_FRAMES)
		sh_fail(s, SH_WILD, "r2 is no function");
	if (s->out->fault)
		return;
	if (s->r[4].v)
		r0 = (uint64_t)-22;
	else if (id == 181 && (uint32_t)s->r[1].v > 1u << 23)
		r0 = (uint64_t)-7;
	f->n = id == 181 ? (uint32_t)s->r[1].v : 0;
	f->map = id == 181 ? NO_MAP : s->r[1].region;
	f->turn = f->key = 0;
	f->to = (uint32_t)fn.v;
	f->ctx = s->r[3];
	f->ret = ret;
	if (id == 164 && (s->r[1].kind != HANDLE || s->r[1].region == NO_MAP))
		sh_fail(s, SH_WILD, "r1 is no map");
	if (s->out->fault)
		return;
	turn(s, f, r0 != 0);
	if (r0)
		s->r[0] = sh_number(r0);
}

static void leave(struct shadow *s)
{
	struct frame *f = &s->frames[--s->nframes];
	struct val r0 = s->r[0];

	s->regions[f->region].dead = true;
	memcpy(&s->r[6], f->saved, sizeof(f->saved));
	for (int i = 1; i <= 5; i++)
		s->r[i].kind = UNDEF;
	s->pc = f->ret;
	if (s->nframes)
		s->r[NB_R10] = sh_pointer(s, s->frames[s->nframes - 1].region, NB_STACK_SIZE);
	if (f->callback)
		turned(s, f, &r0);
}

static void check_way(struct shadow *s, bool taken)
{
	uint8_t need = taken ? NB_AUX_BRANCH_TAKEN : NB_AUX_BRANCH_FALLS;

	if (s->in->aux && !(s->in->aux[s->pc] & need))
		sh_fail(s, SH_AUX, "a jump that never %s does", taken ? "jumps" : "falls through");
}

static uint32_t jump(struct shadow *s, const struct nb_insn *in)
{
	struct val a = s->r[in->dst], b = operand(s, in);
	bool taken;

	if (a.kind == UNDEF)
		sh_fail(s, SH_UNINIT, "r%d was never written", in->dst);
	taken = sh_holds(in, a.v, b.v);
	check_way(s, taken);
	return s->pc + 1 + (taken ? (uint32_t)in->off : 0);
}

static void lddw(struct shadow *s, const struct nb_insn *in)
{
	uint32_t map = (uint32_t)in->imm;
	struct val v = sh_number((uint64_t)in->imm);

	if (in->fn == NB_FN_MAP)
		v = (struct val){ 0x400000000000ull + map * 4096u + (s->in->local & 0xfff0) * 65536,
				  HANDLE, (uint16_t)map };
	else if (in->fn == NB_FN_MAP_VALUE)
		v = sh_value_at(s, map, 0, (uint64_t)in->imm >> 32);
	else if (in->fn == NB_FN_FUNC) /* harmless until something calls it */
		v = (struct val){ s->pc + 1 + (uint64_t)in->off, HANDLE, NO_MAP };
	s->r[in->dst] = v;
}

static void load(struct shadow *s, const struct nb_insn *in)
{
	struct val v = sh_mem_load(s, &s->r[in->src], in->off, in->width / 8u);

	if (in->traits & NB_INSN_SIGNED)
		v = sh_number(sh_sext(v.v, in->width));
	if (in->traits & NB_INSN_ORDERED &&
	    (s->r[in->src].v + (uint64_t)(int64_t)in->off) % (in->width / 8u))
		sh_fail(s, SH_ALIGN, "misaligned load-acquire");
	s->r[in->dst] = v;
}

static void store(struct shadow *s, const struct nb_insn *in)
{
	struct val v = in->operand == NB_OPND_IMM ? sh_number((uint64_t)in->imm) : s->r[in->src];

	if (in->traits & NB_INSN_ORDERED &&
	    (s->r[in->dst].v + (uint64_t)(int64_t)in->off) % (in->width / 8u))
		sh_fail(s, SH_ALIGN, "misaligned store-release");
	sh_mem_store(s, &s->r[in->dst], in->off, in->width / 8u, &v);
}

/* One instruction; false: the program is at its end. */
static bool step(struct shadow *s)
{
	const struct nb_insn *in = &s->insns[s->pc];
	uint32_t next = s->pc + 1;

	switch ((enum nb_kind)in->kind) {
	case NB_KIND_ALU:
		alu(s, in);
		break;
	case NB_KIND_JMP:
		next = jump(s, in);
		break;
	case NB_KIND_JA:
		next += (uint32_t)in->off;
		break;
	case NB_KIND_MAY_GOTO:
		if (!s->passes)
			next += (uint32_t)in->off;
		else
			s->passes--;
		break;
	case NB_KIND_CALL:
		if (in->fn == NB_FN_LOCAL) {
			enter(s, next);
			next += (uint32_t)in->off;
		} else if (in->imm == 181 || in->imm == 164) {
			call_back(s, in->imm, next);
			return true;
		} else {
			helper(s, in->imm);
		}
		break;
	case NB_KIND_EXIT:
		if (s->nframes == 1)
			return false;
		leave(s);
		return true;
	case NB_KIND_LOAD:
		load(s, in);
		break;
	case NB_KIND_STORE:
		store(s, in);
		break;
	case NB_KIND_ATOMIC:
		atomic(s, in);
		break;
	case NB_KIND_LDDW:
		lddw(s, in);
		next++;
		break;
	case NB_KIND_LDDW_HI:
		sh_fail(s, SH_WILD, "the middle of an instruction");
		break;
	}
	if (!s->out->fault)
		s->pc = next;
	return true;
}

/* ---- a run --------------------------------------------------------------- */

/* Inputs from the seed of their label; outputs begin the same everywhere. */
static void ctx_init(struct shadow *s)
{
	struct rng c = { s->in->coherent ^ 0x5bd1e995 };
	uint64_t v;

	memset(s->out->ctx, 0, sizeof(s->out->ctx));
	for (size_t i = 0; i < s->hook->nfields; i++) {
		const struct nb_field_spec *f = &s->hook->fields[i];

		v = sh_edge(f->label == NB_LABEL_COHERENT ? &c : &s->local, s->in);
		memcpy(s->out->ctx + f->off, &v, f->size);
	}
}

static void start(struct shadow *s)
{
	bool named[NB_IMAGE_MAX_MAPS] = { false };

	s->local = (struct rng){ s->in->local };
	s->nframes = s->pc = 0;
	s->nregions = MAX_FRAMES + 1; /* those before are the frames */
	s->passes = s->in->passes;
	s->cpu = rng_below(&s->local, 4096);
	s->low = rng_percent(&s->local, 50);
	memset(s->r, 0, sizeof(s->r));
	ctx_init(s);
	for (uint32_t pc = 0; pc < s->prog->nslots; pc++) {
		const struct nb_insn *in = &s->insns[pc];

		if (in->kind == NB_KIND_LDDW && (in->fn == NB_FN_MAP || in->fn == NB_FN_MAP_VALUE))
			named[(uint32_t)in->imm] = true;
	}
	/* Filling takes most of a run's time. */
	for (uint32_t i = 0; i < s->img->nmaps; i++)
		if (named[i])
			sh_map_init(s, i);
	enter(s, 0);
	s->r[1] = sh_pointer(s, sh_region_new(s, IN_CTX, 0, s->out->ctx, s->hook->ctx_size), 0);
}

static void print_step(const struct shadow *s)
{
	char text[128];

	nb_disasm(text, sizeof(text), &s->insns[s->pc], NULL, NULL);
	printf("#   %u: %-36s", s->pc, text);
	for (int i = 0; i < NB_R10; i++)
		if (s->r[i].kind != UNDEF)
			printf(" r%d=%s%" PRIx64, i, s->r[i].kind == NUMBER ? "" : "&", s->r[i].v);
	printf("\n");
}

void shadow_run(struct shadow *s, const struct nb_image *img, const struct nb_prog *prog,
		const struct nb_insn *insns, const struct sh_input *in, struct sh_result *out)
{
	s->img = img;
	s->prog = prog;
	s->insns = insns;
	s->in = in;
	s->out = out;
	s->hook = nb_spec_hook(prog->hook);
	out->fault = SH_OK;
	out->why[0] = '\0';
	out->r0 = out->steps = 0;
	start(s);
	while (!out->fault) {
		if (s->pc >= prog->nslots) {
			sh_fail(s, SH_WILD, "slot %u of %u", s->pc, prog->nslots);
			break;
		}
		if (out->steps++ >= in->max_steps) {
			sh_fail(s, SH_STEPS, "more than %" PRIu64 " steps", in->max_steps);
			break;
		}
		if (in->aux && !(in->aux[s->pc] & NB_AUX_REACHED)) {
			sh_fail(s, SH_AUX, "a slot that nothing reaches");
			break;
		}
		if (in->trace && (insns[s->pc].kind != NB_KIND_JA || insns[s->pc].off))
			print_step(s);
		if (!step(s))
			break;
	}
	if (out->fault)
		return;
	if (s->r[0].kind == UNDEF || (s->r[0].kind != NUMBER && !in->returns_any))
		sh_fail(s, SH_RETURN, "r0 is %s",
			s->r[0].kind == UNDEF ? "not written" : "an address");
	out->r0 = s->r[0].v;
}

struct shadow *shadow_new(void)
{
	struct shadow *s = calloc(1, sizeof(*s));

	for (uint32_t i = 0; s && i < NB_IMAGE_MAX_MAPS; i++) {
		s->maps[i].values = malloc(MAP_BYTES + 8);
		if (!s->maps[i].values) {
			shadow_free(s);
			return NULL;
		}
	}
	return s;
}

void shadow_free(struct shadow *s)
{
	for (uint32_t i = 0; s && i < NB_IMAGE_MAX_MAPS; i++)
		free(s->maps[i].values);
	free(s);
}
