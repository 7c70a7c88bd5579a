// SPDX-License-Identifier: MIT
// Is the machine inside an abstract state? Numbers lie in their ranges and
// keep their links, pointers point where they are said to, and what is held,
// made or under way is just what the state says.
#include "test/differential/embedding/embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/bpf/verify/report/say.h"
#include "core/bpf/verify/state/saved.h"

enum { MAX_STATES = 6000, ARENA = 24 << 20 };

static struct {
	struct nb_saved *saved[MAX_STATES];
	uint32_t next[MAX_STATES], walk[MAX_STATES], pc[MAX_STATES];
	uint32_t n;
	bool full;
	/* The states of a slot in a ring, + 1: the one before the first to
	 * try, which is the oldest, and then the one that held last. */
	uint32_t tail[EM_SLOTS];
	uint32_t walks; /* only the latest walk counts */
	enum nb_walk_mode mode;
	uint16_t live[EM_SLOTS];
	char *arena;
	size_t used;
} seen;

static struct nb_state scratch;

void em_forget(void)
{
	for (uint32_t i = 0; i < seen.n; i++)
		seen.tail[seen.pc[i]] = 0;
	seen.n = seen.walks = 0;
	seen.used = 0;
	seen.full = false;
}

static void *room(size_t size)
{
	void *p;

	if (!seen.arena)
		seen.arena = malloc(ARENA);
	size = (size + 15) & ~(size_t)15;
	if (!seen.arena || seen.n == MAX_STATES || seen.used + size > ARENA)
		return NULL;
	p = seen.arena + seen.used;
	seen.used += size;
	return p;
}

/* What matters of it, as the verifier's own stored states have it. */
static void live_at(const struct nb_state *st, uint32_t pc, struct nb_live *live)
{
	for (uint32_t i = 0; i + 1 < st->nframes; i++) {
		const struct nb_frame *to = &st->frames[i + 1];

		live->regs[i] =
			to->callback ? seen.live[to->ret - 1] & 0x3fe : seen.live[to->ret] & 0x3c0;
	}
	live->regs[st->nframes - 1] = seen.live[pc];
}

/* The state that was stored last goes to the end of the ring of @pc. */
static void append(uint32_t pc)
{
	uint32_t id = ++seen.n, tail = seen.tail[pc];

	seen.next[id - 1] = tail ? seen.next[tail - 1] : id;
	if (tail)
		seen.next[tail - 1] = id;
	seen.tail[pc] = id;
}

void em_observe(void *arg, struct nb_env *env, const struct nb_state *st, uint32_t pc)
{
	struct nb_live live;
	void *p;

	(void)arg;
	if (env->walk.how.labels)
		return;
	if (!seen.n)
		memcpy(seen.live, env->program.cfg.live, env->program.n * sizeof(seen.live[0]));
	if (!seen.walks || seen.mode != env->walk.how.mode) {
		seen.mode = env->walk.how.mode;
		seen.walks++;
	}
	live_at(st, pc, &live);
	p = room(nb_state_size(st, &live));
	if (!p) {
		seen.full = true;
		return;
	}
	nb_state_save(p, st, &live);
	seen.saved[seen.n] = p;
	seen.pc[seen.n] = pc;
	seen.walk[seen.n] = seen.walks;
	append(pc);
}

/* ---- what ids of a state stand for ---- */

struct bond {
	uint32_t id;
	uint64_t is;
};

struct bonds {
	const struct nb_state *st;
	uint32_t n, nrefs;
	struct bond at[512];  /* of linked numbers, of pointers' targets */
	struct bond ref[128]; /* to what was lent, or objects */
};

enum { LENT = 1 << 16, OBJECT = 1 << 17, NOTHING = 1 << 18 };

static bool bind(struct bonds *b, uint32_t id, uint64_t is)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->at[i].id == id)
			return b->at[i].is == is;
	if (b->n < 512)
		b->at[b->n++] = (struct bond){ id, is };
	return true;
}

static bool bind_ref(struct bonds *b, uint32_t id, uint64_t is)
{
	for (uint32_t i = 0; i < b->nrefs; i++)
		if (b->ref[i].id == id)
			return b->ref[i].is == is;
	if (b->nrefs < 128)
		b->ref[b->nrefs++] = (struct bond){ id, is };
	return true;
}

static uint64_t ref_of(const struct bonds *b, uint32_t id)
{
	for (uint32_t i = 0; i < b->nrefs; i++)
		if (b->ref[i].id == id)
			return b->ref[i].is;
	return NOTHING;
}

/* ---- registers ---- */

static bool in_element(const struct nb_reg *r, uint64_t v, uint32_t region, uint64_t *base)
{
	uint32_t map = (region - EM_R_VALUE) / EM_ELEMS;

	if (region < EM_R_VALUE || map >= em_nmaps || map != r->map)
		return false;
	*base = em_address(region, 0);
	return nb_range_has(&r->r, v - *base);
}

/* Some element of the map; offsets may be anything, so all are tried. */
static bool value_holds(struct bonds *b, const struct nb_reg *r, uint64_t v)
{
	uint32_t region = em_region(v);
	uint64_t base = 0;
	bool found = in_element(r, v, region, &base) || in_element(r, v, region + 1, &base);

	for (uint32_t i = 0; !found && i < em_nmaps * EM_ELEMS; i++)
		found = in_element(r, v, EM_R_VALUE + i, &base);
	return found && (!r->id || bind(b, r->id, base));
}

static bool lent_holds(const struct nb_reg *r, uint64_t v, uint32_t n, uint32_t object)
{
	const struct em_lent *l;

	if (n >= em.nlent)
		return false;
	l = &em.lent[n];
	return l->live && l->size == r->size && l->object == object &&
	       (r->kind == NB_REG_RDONLY || l->base % 8 == 0) &&
	       nb_range_has(&r->r, v - em_address(EM_R_LENT + n, l->base));
}

/* The memory that stands in for a context. */
static bool plain_holds(const struct nb_reg *r, uint64_t v)
{
	return em_prog.plain && r->size == em_prog.plain && !r->id &&
	       nb_range_has(&r->r, v - em_address(EM_R_PLAIN, 0));
}

static bool memory_holds(struct bonds *b, const struct nb_reg *r, uint64_t v)
{
	uint64_t is = ref_of(b, r->ref);
	uint32_t n = em_region(v) - EM_R_LENT;

	if (!v && r->kind == NB_REG_MEM_OR_NULL)
		return !r->id || bind(b, r->id, 0);
	if (!r->ref)
		return plain_holds(r, v);
	if (is & LENT)
		return lent_holds(r, v, (uint32_t)is & (LENT - 1), UINT32_MAX);
	if (!(is & OBJECT))
		return false;
	is &= LENT - 1;
	for (uint32_t i = n; i != n + 2; i++)
		if (lent_holds(r, v, i, (uint32_t)is))
			return !r->id || bind(b, r->id, em_address(EM_R_LENT + i, 0));
	for (uint32_t i = 0; i < em.nlent; i++)
		if (lent_holds(r, v, i, (uint32_t)is))
			return !r->id || bind(b, r->id, em_address(EM_R_LENT + i, 0));
	return false;
}

/* A number of an iterator, or a key during a helper's turns. */
static bool rdonly_holds(struct bonds *b, const struct nb_reg *r, uint64_t v)
{
	uint64_t is = ref_of(b, r->ref);

	for (uint32_t i = 0; i < b->st->nframes; i++)
		if (r->ref && b->st->frames[i].loop == r->ref)
			return em.frames[i].key &&
			       lent_holds(r, v, em.frames[i].key - 1, UINT32_MAX);
	if (!(is & OBJECT))
		return false;
	for (uint32_t i = 0; i < em.nlent; i++)
		if (lent_holds(r, v, i, (uint32_t)is & (LENT - 1)))
			return true;
	return false;
}

static bool map_holds(struct bonds *b, const struct nb_reg *r, uint64_t v)
{
	uint32_t map = em_region(v) - EM_R_HANDLE;

	return v && map < em_nmaps && !em_offset(v) && map == r->map &&
	       (!r->id || bind(b, r->id, v));
}

static bool func_holds(const struct nb_reg *r, uint64_t v)
{
	uint32_t n = em_region(v) - EM_R_CODE;

	return n < em_prog.nfuncs && em_prog.funcs[n].start == r->map;
}

static bool reg_holds(struct bonds *b, const struct nb_reg *r, uint64_t v)
{
	switch ((enum nb_reg_kind)r->kind) {
	case NB_REG_UNINIT:
		return true;
	case NB_REG_SCALAR:
		return nb_range_has(&r->r, v) &&
		       (!r->id || bind(b, r->id, v - (uint64_t)(int64_t)r->delta));
	case NB_REG_CTX:
		return nb_range_has(&r->r, v - em_address(EM_R_CTX, 0));
	case NB_REG_STACK:
		return nb_range_has(&r->r, v - em_address(EM_R_STACK + r->frame, NB_STACK_SIZE));
	case NB_REG_MAP:
		return map_holds(b, r, v);
	case NB_REG_VALUE_OR_NULL:
		if (!v)
			return !r->id || bind(b, r->id, 0);
		return value_holds(b, r, v);
	case NB_REG_VALUE:
		return value_holds(b, r, v);
	case NB_REG_MEM:
	case NB_REG_MEM_OR_NULL:
		return memory_holds(b, r, v);
	case NB_REG_RDONLY:
		return rdonly_holds(b, r, v);
	case NB_REG_FUNC:
		return func_holds(r, v);
	}
	return false;
}

/* ---- stack ---- */

static const uint8_t *cell_bytes(const struct em_frame *f, uint32_t c)
{
	return f->stack + NB_STACK_SIZE - 4 * (c + 1);
}

static bool bytes_hold(const struct nb_cell *x, const struct em_frame *f, uint32_t c)
{
	const uint8_t *p = cell_bytes(f, c);
	const uint8_t *init = f->init + NB_STACK_SIZE - 4 * (c + 1);

	for (unsigned i = 0; i < 4; i++) {
		if (!(x->init >> i & 1))
			continue;
		if (!init[i])
			return false;
		if ((x->kind == NB_CELL_BYTES || nb_cell_narrow(x)) && x->zero >> i & 1 && p[i])
			return false;
	}
	return true;
}

static bool spills_hold(struct bonds *b, const struct nb_frame *a, const struct em_frame *f)
{
	for (uint32_t c = 0; c < a->ncells; c++) {
		const struct nb_cell *x = &a->cells[c];
		uint64_t v = 0;

		if (!bytes_hold(x, f, c))
			return false;
		if (x->kind != NB_CELL_SPILL4 && x->kind != NB_CELL_SPILL8 && !nb_cell_narrow(x))
			continue;
		memcpy(&v, cell_bytes(f, c),
		       x->kind == NB_CELL_SPILL8 ? 8
		       : nb_cell_narrow(x)	 ? nb_cell_narrow(x)
						 : 4);
		if (!reg_holds(b, &x->reg, v))
			return false;
	}
	return true;
}

static bool iterator_holds(const struct nb_reg *r, const struct em_object *o)
{
	enum { OPEN, ENDED, EXACT, SURE }; /* as in core/bpf/verify/feature/iter.c */
	int64_t next = (int64_t)o->cur + 1;

	if ((r->delta == EXACT || r->delta == SURE) && next < o->end && !o->sure)
		return false;
	switch (r->delta) {
	case OPEN:
	case SURE:
		return next >= o->end || (nb_range_has(&r->r, (uint64_t)next) &&
					  nb_range_has(&r->r, (uint64_t)o->end - 1));
	case ENDED:
		return next >= o->end;
	default:
		return nb_range_has(&r->r, (uint64_t)(int64_t)o->cur) && (int32_t)r->id == o->end;
	}
}

/* Objects are where they are said to be; their ids stand for them. */
static bool objects_hold(struct bonds *b, uint32_t frame)
{
	const struct nb_frame *a = &b->st->frames[frame];

	for (uint32_t c = 0; c < a->ncells; c++) {
		const struct nb_cell *x = &a->cells[c];
		int o;

		if (x->kind != NB_CELL_OBJECT)
			continue;
		o = em_object_at(em_address(EM_R_STACK + frame, NB_STACK_SIZE - 4 * (c + 1)));
		if (o < 0 || !bind_ref(b, x->reg.ref, OBJECT | (uint32_t)o))
			return false;
		if (!iterator_holds(&x->reg, &em.objects[o]))
			return false;
	}
	return true;
}

/* ---- what is held ---- */

struct holder {
	uint32_t ref;
	const struct nb_reg *reg;
	uint64_t v;
};

/* A register that a reservation not yet tested is in, and what it is. */
static bool untested(const struct bonds *b, uint32_t id, uint64_t *v)
{
	for (uint32_t i = 0; i < b->st->nframes; i++) {
		const struct nb_frame *a = &b->st->frames[i];
		const struct em_frame *f = &em.frames[i];

		for (unsigned r = 0; r < NB_R10; r++)
			if (a->regs[r].kind == NB_REG_MEM_OR_NULL && a->regs[r].id == id) {
				*v = f->reg[r];
				return true;
			}
		for (uint32_t c = 0; c < a->ncells; c++)
			if (a->cells[c].kind == NB_CELL_SPILL8 &&
			    a->cells[c].reg.kind == NB_REG_MEM_OR_NULL &&
			    a->cells[c].reg.id == id) {
				memcpy(v, cell_bytes(f, c), 8);
				return true;
			}
	}
	return false;
}

static bool held_holds(struct bonds *b)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < b->st->nrefs; i++) {
		const struct nb_ref *ref = &b->st->refs[i];
		const struct em_held *h = &em.held[at];
		uint64_t v;

		/* NULL, and nobody has looked yet */
		if (ref->kind == NB_REF_SAMPLE && untested(b, ref->id, &v) && !v)
			continue;
		if (at++ >= em.nheld || h->kind != ref->kind || h->frame != ref->frame)
			return false;
		if (!bind_ref(b, ref->id, (ref->kind == NB_REF_SAMPLE ? LENT : OBJECT) | h->what))
			return false;
	}
	return at >= em.nheld;
}

/* ---- states ---- */

static bool frame_holds(struct bonds *b, uint32_t i)
{
	const struct nb_frame *a = &b->st->frames[i];
	const struct em_frame *f = &em.frames[i];

	if ((i && a->ret != f->ret) || (i && a->callback != f->callback) ||
	    (a->loop != 0) != f->looping ||
	    (f->looping && a->counted && a->invocations != f->invocations))
		return false;
	for (unsigned r = 0; r < NB_R10; r++) {
		if (a->regs[r].kind == NB_REG_UNINIT)
			continue;
		if (!(f->written >> r & 1) || !reg_holds(b, &a->regs[r], f->reg[r]))
			return false;
	}
	return spills_hold(b, a, f);
}

static bool state_holds(const struct nb_state *st)
{
	static struct bonds b;

	b.st = st;
	b.n = b.nrefs = 0;
	if (st->nframes != em.nframes || !held_holds(&b))
		return false;
	for (uint32_t i = 0; i < st->nframes; i++)
		if (!objects_hold(&b, i))
			return false;
	for (uint32_t i = 0; i < st->nframes; i++)
		if (!frame_holds(&b, i))
			return false;
	return true;
}

bool em_embedded(void)
{
	uint32_t tail = seen.tail[em.pc], before = tail;

	if (seen.full || !tail)
		return seen.full;
	do {
		uint32_t i = seen.next[before - 1] - 1;

		if (seen.walk[i] == seen.walks) {
			nb_state_restore(&scratch, seen.saved[i]);
			if (state_holds(&scratch)) {
				/* A loop's next turn was walked after it. */
				seen.tail[em.pc] = before;
				return true;
			}
		}
		before = i + 1;
	} while (before != tail);
	return false;
}

void em_dump_states(void)
{
	for (uint32_t i = 0; i < seen.n; i++) {
		if (seen.pc[i] != em.pc || seen.walk[i] != seen.walks)
			continue;
		nb_state_restore(&scratch, seen.saved[i]);
		printf("#  state %u: %u frames, %u held\n", i, scratch.nframes, scratch.nrefs);
		for (unsigned r = 0; r < NB_R10; r++) {
			const struct nb_reg *x = &scratch.frames[scratch.nframes - 1].regs[r];

			if (x->kind)
				printf("#   r%u kind %u id %u ref %u map %u "
				       "%lld..%lld u %llx..%llx\n",
				       r, x->kind, x->id, x->ref, x->map, (long long)x->r.smin,
				       (long long)x->r.smax, (unsigned long long)x->r.umin,
				       (unsigned long long)x->r.umax);
		}
	}
}
