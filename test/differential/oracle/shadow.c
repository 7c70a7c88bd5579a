// SPDX-License-Identifier: MIT
// The shadow interpreter: see shadow.h. Maps are small tables of bytes; local
// maps are filled from the local seed and may change between two loads, as if
// another thread wrote them. A hash's elements lie where they are when they
// are deleted, as in core/map.
#include "test/differential/oracle/shadow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_ELEMS = 16, /* elements kept of a map; more share the last one */
	MAX_REGIONS = NB_IMAGE_MAX_MAPS * MAX_ELEMS + NB_MAX_FRAMES + 2,
	MAX_FRAMES = NB_MAX_FRAMES,
	MAP_BYTES = 64 << 10,
	NO_MAP = UINT16_MAX /* a HANDLE of something else */
};

/* A value: a number, or an address in region @region (from 1). */
enum kind { UNDEF, NUMBER, POINTER, HANDLE };

struct val {
	uint64_t v;
	uint8_t kind;
	uint16_t region; /* POINTER: region; HANDLE: map */
};

enum place { IN_CTX, IN_STACK, IN_VALUE, IN_KEY };

struct region {
	uint64_t base;
	uint32_t size;
	enum place place;
	uint32_t of; /* IN_STACK: frame; IN_VALUE: map */
	bool dead;
	uint8_t *bytes;
};

struct frame {
	uint8_t bytes[NB_STACK_SIZE], init[NB_STACK_SIZE];
	struct val whole[NB_STACK_SIZE / 8]; /* POINTER: stored whole here */
	struct val saved[4];
	uint32_t ret;
	uint16_t region;
	/* a callback's: the call of the helper that it is a turn of */
	bool callback;
	uint64_t n, turn;
	uint32_t to, map; /* the callback; NO_MAP: turns are numbered */
	uint16_t key;	  /* region of the key */
	uint8_t key_bytes[NB_IMAGE_MAX_KEY];
	struct val ctx;
};

struct elem {
	bool present;
	uint16_t region;
	uint8_t key[NB_IMAGE_MAX_KEY];
	uint8_t *value;
};

struct map {
	uint32_t n;
	struct elem elem[MAX_ELEMS];
	uint8_t *values;
};

struct shadow {
	const struct nb_image *img;
	const struct nb_prog *prog;
	const struct nb_insn *insns;
	const struct sh_input *in;
	struct sh_result *out;
	const struct nb_hook_spec *hook;
	struct rng local;
	struct val r[NB_NREGS];
	struct frame frames[MAX_FRAMES];
	uint32_t nframes, pc, passes, cpu;
	bool cpu_known;
	uint32_t nregions;
	struct region regions[MAX_REGIONS];
	struct map maps[NB_IMAGE_MAX_MAPS];
};

static const char *const words[] = { "none",	 "uninitialised", "bounds",
				     "access",	 "dangling",	  "alignment",
				     "wild",	 "return",	  "steps",
				     "aux facts" };

const char *shadow_fault_word(enum sh_fault f)
{
	return words[f];
}

static void fault(struct shadow *s, enum sh_fault f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void fault(struct shadow *s, enum sh_fault f, const char *fmt, ...)
{
	va_list ap;

	if (s->out->fault)
		return;
	s->out->fault = f;
	s->out->pc = s->pc;
	va_start(ap, fmt);
	vsnprintf(s->out->why, sizeof(s->out->why), fmt, ap);
	va_end(ap);
}

static struct val number(uint64_t v)
{
	return (struct val){ v, NUMBER, 0 };
}

/* ---- random contents -------------------------------------------------- */

/* Numbers near those where programs go wrong. */
static uint64_t edge(struct rng *r, const struct sh_input *in)
{
	static const uint64_t edges[] = { 0,
					  1,
					  2,
					  7,
					  8,
					  15,
					  16,
					  31,
					  32,
					  63,
					  64,
					  65,
					  127,
					  128,
					  255,
					  256,
					  0x7fff,
					  0x8000,
					  0xffff,
					  0x7fffffff,
					  0x80000000,
					  0x80000001,
					  0xffffffff,
					  0x100000000,
					  0x100000001,
					  1ull << 63,
					  (1ull << 63) - 1,
					  UINT64_MAX,
					  UINT64_MAX - 1 };
	uint64_t v;

	switch (rng_below(r, 8)) {
	case 0:
		return rng_next(r);
	case 1:
		return rng_next(r) >> rng_below(r, 64);
	case 2:
		return ~(rng_next(r) >> rng_below(r, 64));
	case 3:
	case 4:
		if (in->npool) {
			v = (uint64_t)in->pool[rng_below(r, in->npool)];
			v += (uint64_t)(int64_t)rng_between(r, -2, 2);
			if (rng_percent(r, 25))
				v = (uint32_t)v | rng_next(r) << 32;
			return v;
		}
		return rng_below(r, 70);
	case 5:
		return rng_below(r, 70);
	default:
		return edges[rng_below(r, sizeof(edges) / sizeof(edges[0]))];
	}
}

static void fill(struct rng *r, const struct sh_input *in, uint8_t *p,
		 uint32_t size)
{
	uint32_t at = 0, step;
	uint64_t v;

	while (at < size) {
		v = rng_percent(r, 20) ? 0 : edge(r, in);
		step = 1u << rng_below(r, 4);
		step = step > size - at ? size - at : step;
		memcpy(p + at, &v, step);
		at += step;
	}
}

/* ---- regions ----------------------------------------------------------- */

static uint16_t region_new(struct shadow *s, enum place place, uint32_t of,
			   uint8_t *bytes, uint32_t size)
{
	struct region *g;

	if (place == IN_STACK) {
		g = &s->regions[of + 1];
	} else if (s->nregions < MAX_REGIONS) {
		g = &s->regions[s->nregions++];
	} else {
		fault(s, SH_STEPS, "the run has too many objects");
		return 0;
	}
	/* Far from each other, as addresses of a process look. */
	g->base = 0x500000000000ull +
		  (uint64_t)(g - s->regions) * 0x10000000ull +
		  (uint64_t)rng_below(&s->local, 0x100000) * 16;
	g->place = place;
	g->of = of;
	g->bytes = bytes;
	g->size = size;
	g->dead = false;
	return (uint16_t)(g - s->regions);
}

static struct val pointer(struct shadow *s, uint16_t region, uint64_t off)
{
	return (struct val){ s->regions[region].base + off, POINTER, region };
}

static bool is_local(const struct nb_map_spec *m)
{
	return !(m->tags & NB_MAPF_COHERENT) && m->origin != NB_ORIGIN_RODATA;
}

static bool is_hash(const struct nb_map_spec *m)
{
	return m->type == NB_MAP_HASH;
}

/* Contents before the run: coherent and constant ones from the shared seed. */
static void map_init(struct shadow *s, uint32_t i)
{
	const struct nb_map_spec *spec = &s->img->maps[i];
	struct map *m = &s->maps[i];
	struct rng r = { (is_local(spec) ? s->in->local : s->in->coherent) +
			 i * 7919u };

	m->n = spec->max_entries < MAX_ELEMS ? spec->max_entries : MAX_ELEMS;
	if (m->n * (uint64_t)spec->value_size > MAP_BYTES)
		m->n = MAP_BYTES / spec->value_size;
	for (uint32_t e = 0; e < m->n; e++) {
		struct elem *x = &m->elem[e];

		x->value = m->values + (size_t)e * spec->value_size;
		x->region = 0;
		x->present = !is_hash(spec) || rng_percent(&r, 60);
		fill(&r, s->in, x->key, spec->key_size);
		fill(&r, s->in, x->value, spec->value_size);
		if (spec->origin == NB_ORIGIN_RODATA && spec->init)
			memcpy(x->value, spec->init, spec->value_size);
	}
}

static struct val value_at(struct shadow *s, uint32_t map, uint32_t e,
			   uint64_t off)
{
	struct elem *x = &s->maps[map].elem[e];

	if (!x->region)
		x->region = region_new(s, IN_VALUE, map, x->value,
				       s->img->maps[map].value_size);
	return pointer(s, x->region, off);
}

static struct elem *hash_find(struct shadow *s, uint32_t map,
			      const uint8_t *key)
{
	struct map *m = &s->maps[map];

	for (uint32_t e = 0; e < m->n; e++)
		if (m->elem[e].present &&
		    !memcmp(m->elem[e].key, key, s->img->maps[map].key_size))
			return &m->elem[e];
	return NULL;
}

/* ---- memory ------------------------------------------------------------ */

struct span {
	struct region *g;
	uint32_t off;
};

static bool find(struct shadow *s, const struct val *p, int64_t off,
		 uint64_t size, struct span *out)
{
	struct region *g;
	uint64_t at;

	if (p->kind == UNDEF) {
		fault(s, SH_UNINIT, "address was never written");
		return false;
	}
	if (p->kind != POINTER) {
		fault(s, SH_BOUNDS, "0x%" PRIx64 " is no address", p->v);
		return false;
	}
	g = &s->regions[p->region];
	at = p->v + (uint64_t)off - g->base;
	if (g->dead) {
		fault(s, SH_DANGLES, "the frame is gone");
		return false;
	}
	if (size > g->size || at > g->size - size) {
		fault(s, SH_BOUNDS,
		      "%" PRIu64 " bytes at %" PRId64 " of %u (%s %u)", size,
		      (int64_t)at, g->size,
		      g->place == IN_CTX     ? "context"
		      : g->place == IN_STACK ? "frame"
					     : "map",
		      g->of);
		return false;
	}
	out->g = g;
	out->off = (uint32_t)at;
	return true;
}

static void allow_read(struct shadow *s, const struct span *a, uint64_t size)
{
	const struct region *g = a->g;

	if (g->place == IN_VALUE &&
	    s->img->maps[g->of].flags & NB_F_WRONLY_PROG)
		fault(s, SH_ACCESS, "map %u is write-only", g->of);
	for (uint64_t i = 0; g->place == IN_STACK && i < size; i++)
		if (!s->frames[g->of].init[a->off + i])
			fault(s, SH_UNINIT, "frame %u byte %d never written",
			      g->of, (int)(a->off + i) - (int)NB_STACK_SIZE);
}

static void allow_write(struct shadow *s, const struct span *a, uint64_t size)
{
	const struct region *g = a->g;
	const struct nb_map_spec *m;
	const struct nb_field_spec *f;

	if (g->place == IN_KEY)
		fault(s, SH_ACCESS, "a key is only read");
	if (g->place == IN_VALUE) {
		m = &s->img->maps[g->of];
		if (m->flags & NB_F_RDONLY_PROG || !is_local(m))
			fault(s, SH_ACCESS, "map %u is read-only", g->of);
	}
	for (uint64_t i = 0; g->place == IN_CTX && i < size; i++) {
		f = nb_spec_field(s->hook, a->off + (uint32_t)i);
		if (!f || f->access != NB_OUT)
			fault(s, SH_ACCESS, "context byte %u is an input",
			      a->off + (uint32_t)i);
	}
}

/* Another thread may have been here. */
static void disturb(struct shadow *s, const struct span *a, uint64_t size)
{
	if (a->g->place == IN_VALUE && is_local(&s->img->maps[a->g->of]) &&
	    rng_percent(&s->local, 25))
		fill(&s->local, s->in, a->g->bytes + a->off, (uint32_t)size);
}

static struct val mem_load(struct shadow *s, const struct val *p, int64_t off,
			   uint32_t size)
{
	uint64_t v = 0;
	struct span a;

	if (!find(s, p, off, size, &a))
		return number(0);
	allow_read(s, &a, size);
	if (a.g->place == IN_STACK && size == 8 && !(a.off & 7)) {
		const struct val *w = &s->frames[a.g->of].whole[a.off / 8];

		if (w->kind == POINTER || w->kind == HANDLE)
			return *w;
	}
	disturb(s, &a, size);
	memcpy(&v, a.g->bytes + a.off, size);
	return number(v);
}

/* Bytes of the stack were written: what was whole there is not any more. */
static void mem_touch(struct shadow *s, const struct span *a, uint64_t size)
{
	struct frame *f = &s->frames[a->g->of];

	if (a->g->place != IN_STACK || !size)
		return;
	memset(f->init + a->off, 1, size);
	for (uint64_t i = a->off / 8; i <= (a->off + size - 1) / 8; i++)
		f->whole[i].kind = UNDEF;
}

static void mem_store(struct shadow *s, const struct val *p, int64_t off,
		      uint32_t size, const struct val *v)
{
	struct span a;

	if (v->kind == UNDEF)
		fault(s, SH_UNINIT, "stored value was never written");
	if (!find(s, p, off, size, &a))
		return;
	allow_write(s, &a, size);
	memcpy(a.g->bytes + a.off, &v->v, size);
	mem_touch(s, &a, size);
	if (a.g->place == IN_STACK && size == 8 && !(a.off & 7))
		s->frames[a.g->of].whole[a.off / 8] = *v;
}

static bool mem_copy(struct shadow *s, const struct val *p, uint64_t size,
		     uint8_t *to)
{
	struct span a;

	if (!find(s, p, 0, size, &a))
		return false;
	allow_read(s, &a, size);
	disturb(s, &a, size);
	if (to)
		memcpy(to, a.g->bytes + a.off, size);
	return !s->out->fault;
}

/* ---- arithmetic -------------------------------------------------------- */

static uint64_t sext(uint64_t v, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1);

	if (bits < 64)
		v &= (1ull << bits) - 1;
	return (v ^ sign) - sign;
}

static uint64_t trunc_to(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

static uint64_t swap_bytes(uint64_t v, unsigned bits)
{
	uint64_t r = 0;

	for (unsigned i = 0; i < bits; i += 8)
		r = r << 8 | (v >> i & 0xff);
	return r;
}

static uint64_t divide(uint64_t a, uint64_t b, unsigned bits, bool sign,
		       bool rest)
{
	bool na = sign && sext(a, bits) >> 63, nb = sign && sext(b, bits) >> 63;
	uint64_t q, m;

	a = trunc_to(na ? 0 - a : a, bits);
	b = trunc_to(nb ? 0 - b : b, bits);
	if (!b) {
		q = 0;
		m = a;
	} else {
		q = a / b;
		m = a % b;
	}
	q = na != nb ? 0 - q : q;
	m = na ? 0 - m : m;
	return rest ? m : q;
}

static uint64_t compute(const struct nb_insn *in, uint64_t a, uint64_t b)
{
	unsigned bits = in->width == 64 ? 64 : 32;
	unsigned n = (unsigned)(b & (bits - 1));

	a = trunc_to(a, bits);
	b = trunc_to(b, bits);
	switch ((int)in->fn) {
	case NB_FN_ADD:
		return a + b;
	case NB_FN_SUB:
		return a - b;
	case NB_FN_MUL:
		return a * b;
	case NB_FN_DIV:
		return divide(a, b, bits, false, false);
	case NB_FN_MOD:
		return divide(a, b, bits, false, true);
	case NB_FN_SDIV:
		return divide(a, b, bits, true, false);
	case NB_FN_SMOD:
		return divide(a, b, bits, true, true);
	case NB_FN_OR:
		return a | b;
	case NB_FN_AND:
		return a & b;
	case NB_FN_XOR:
		return a ^ b;
	case NB_FN_LSH:
		return a << n;
	case NB_FN_RSH:
		return a >> n;
	case NB_FN_ARSH:
		return (uint64_t)((int64_t)sext(a, bits) >> n);
	case NB_FN_NEG:
		return 0 - a;
	case NB_FN_MOV:
		return b;
	case NB_FN_MOVSX8:
		return sext(b, 8);
	case NB_FN_MOVSX16:
		return sext(b, 16);
	default:
		return sext(b, 32);
	}
}

static bool is_move(const struct nb_insn *in)
{
	return in->fn == NB_FN_MOV || in->fn == NB_FN_MOVSX8 ||
	       in->fn == NB_FN_MOVSX16 || in->fn == NB_FN_MOVSX32;
}

static struct val operand(struct shadow *s, const struct nb_insn *in)
{
	if (in->operand != NB_OPND_REG)
		return number((uint64_t)in->imm);
	if (s->r[in->src].kind == UNDEF)
		fault(s, SH_UNINIT, "r%d was never written", in->src);
	return s->r[in->src];
}

static void check_nonzero(struct shadow *s, const struct nb_insn *in,
			  uint64_t b)
{
	bool division = in->fn == NB_FN_DIV || in->fn == NB_FN_MOD ||
			in->fn == NB_FN_SDIV || in->fn == NB_FN_SMOD;

	if (division && s->in->aux && s->in->aux[s->pc] & NB_AUX_NONZERO &&
	    !trunc_to(b, in->width == 64 ? 64 : 32))
		fault(s, SH_AUX, "a divisor that is never 0 is 0");
}

static void alu(struct shadow *s, const struct nb_insn *in)
{
	struct val *d = &s->r[in->dst], b = operand(s, in), v;
	bool move = is_move(in), keeps;

	if (in->dst == NB_R10)
		fault(s, SH_WILD, "r10 is written");
	if (!move && d->kind == UNDEF)
		fault(s, SH_UNINIT, "r%d was never written", in->dst);
	if (in->fn == NB_FN_LE || in->fn == NB_FN_BE || in->fn == NB_FN_BSWAP) {
		v = number(in->fn == NB_FN_LE ? trunc_to(d->v, in->width)
					      : swap_bytes(d->v, in->width));
		*d = v;
		return;
	}
	check_nonzero(s, in, b.v);
	v = number(trunc_to(compute(in, d->v, b.v), in->width));
	/* Only whole moves, and sums with one number, stay addresses. */
	keeps = in->width == 64;
	if (keeps && in->fn == NB_FN_MOV) {
		v = b;
	} else if (keeps && (in->fn == NB_FN_ADD || in->fn == NB_FN_SUB) &&
		   d->kind == POINTER && b.kind == NUMBER) {
		v.kind = POINTER;
		v.region = d->region;
	} else if (keeps && in->fn == NB_FN_ADD && d->kind == NUMBER &&
		   b.kind == POINTER) {
		v.kind = POINTER;
		v.region = b.region;
	}
	*d = v;
}

static bool holds(const struct nb_insn *in, uint64_t a, uint64_t b)
{
	unsigned bits = in->width == 64 ? 64 : 32;
	int64_t x = (int64_t)sext(a, bits), y = (int64_t)sext(b, bits);

	a = trunc_to(a, bits);
	b = trunc_to(b, bits);
	switch ((int)in->fn) {
	case NB_FN_JEQ:
		return a == b;
	case NB_FN_JNE:
		return a != b;
	case NB_FN_JGT:
		return a > b;
	case NB_FN_JGE:
		return a >= b;
	case NB_FN_JLT:
		return a < b;
	case NB_FN_JLE:
		return a <= b;
	case NB_FN_JSET:
		return (a & b) != 0;
	case NB_FN_JSGT:
		return x > y;
	case NB_FN_JSGE:
		return x >= y;
	case NB_FN_JSLT:
		return x < y;
	default:
		return x <= y;
	}
}

/* ---- atomics ------------------------------------------------------------ */

static void atomic(struct shadow *s, const struct nb_insn *in)
{
	const struct val *p = &s->r[in->dst];
	struct val src = s->r[in->src], old, now;
	uint32_t size = in->width / 8u;

	if (src.kind == UNDEF)
		fault(s, SH_UNINIT, "r%d was never written", in->src);
	if ((p->v + (uint64_t)(int64_t)in->off) % size)
		fault(s, SH_ALIGN, "atomic of %u bytes at 0x%" PRIx64, size,
		      p->v + (uint64_t)(int64_t)in->off);
	old = mem_load(s, p, in->off, size);
	if (s->out->fault)
		return;
	/* An address taken apart is a number. */
	old = number(trunc_to(old.v, in->width));
	now = old;
	switch ((int)in->fn) {
	case NB_FN_ADD:
	case NB_FN_FETCH_ADD:
		now.v += src.v;
		break;
	case NB_FN_OR:
	case NB_FN_FETCH_OR:
		now.v |= src.v;
		break;
	case NB_FN_AND:
	case NB_FN_FETCH_AND:
		now.v &= src.v;
		break;
	case NB_FN_XOR:
	case NB_FN_FETCH_XOR:
		now.v ^= src.v;
		break;
	case NB_FN_XCHG:
		now.v = src.v;
		break;
	default:
		if (s->r[0].kind == UNDEF)
			fault(s, SH_UNINIT, "r0 was never written");
		if (old.v == trunc_to(s->r[0].v, in->width))
			now.v = src.v;
		break;
	}
	mem_store(s, p, in->off, size, &now);
	if (in->fn == NB_FN_CMPXCHG)
		s->r[0] = old;
	else if (in->fn >= NB_FN_FETCH_ADD)
		s->r[in->src] = old;
}

/* ---- helpers ------------------------------------------------------------ */

static bool map_arg(struct shadow *s, uint32_t *map)
{
	if (s->r[1].kind != HANDLE || s->r[1].region == NO_MAP) {
		fault(s, SH_WILD, "r1 is no map");
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

	if (!map_arg(s, &map) ||
	    !mem_copy(s, &s->r[2], s->img->maps[map].key_size, key))
		return number(0);
	if (is_hash(&s->img->maps[map])) {
		/* What is in a local hash, others change at any time. */
		if (is_local(&s->img->maps[map]) && s->maps[map].n &&
		    rng_percent(&s->local, 50)) {
			x = &s->maps[map].elem[rng_below(&s->local,
							 s->maps[map].n)];
			return rng_percent(&s->local, 50)
				       ? number(0)
				       : value_at(s, map,
						  (uint32_t)(x -
							     s->maps[map].elem),
						  0);
		}
		x = hash_find(s, map, key);
		if (!x)
			return number(0);
		return value_at(s, map, (uint32_t)(x - s->maps[map].elem), 0);
	}
	memcpy(&i, key, 4);
	if (i >= s->img->maps[map].max_entries)
		return number(0);
	return value_at(s, map, i < s->maps[map].n ? i : s->maps[map].n - 1, 0);
}

static struct val call_update(struct shadow *s)
{
	uint8_t key[NB_IMAGE_MAX_KEY];
	const struct nb_map_spec *m;
	uint32_t map, i;
	struct elem *x;

	if (!map_arg(s, &map))
		return number(0);
	m = &s->img->maps[map];
	if (!mem_copy(s, &s->r[2], m->key_size, key) ||
	    !mem_copy(s, &s->r[3], m->value_size, NULL))
		return number(0);
	if (s->r[4].kind == UNDEF)
		fault(s, SH_UNINIT, "r4 was never written");
	if (m->flags & NB_F_RDONLY_PROG || !is_local(m))
		fault(s, SH_ACCESS, "map %u is read-only", map);
	memcpy(&i, key, 4);
	x = is_hash(m) ? hash_find(s, map, key)
		       : &s->maps[map].elem[i < s->maps[map].n ? i : 0];
	if (!x)
		x = &s->maps[map].elem[rng_below(&s->local, s->maps[map].n)];
	x->present = true;
	memcpy(x->key, key, m->key_size);
	mem_copy(s, &s->r[3], m->value_size, x->value);
	return number(edge(&s->local, s->in));
}

static struct val call_delete(struct shadow *s)
{
	uint8_t key[NB_IMAGE_MAX_KEY];
	struct elem *x;
	uint32_t map;

	if (!map_arg(s, &map) ||
	    !mem_copy(s, &s->r[2], s->img->maps[map].key_size, key))
		return number(0);
	if (s->img->maps[map].flags & NB_F_RDONLY_PROG ||
	    !is_local(&s->img->maps[map]))
		fault(s, SH_ACCESS, "map %u is read-only", map);
	x = is_hash(&s->img->maps[map]) ? hash_find(s, map, key) : NULL;
	if (x)
		x->present = false;
	return number(edge(&s->local, s->in));
}

static struct val call_printk(struct shadow *s)
{
	if (s->r[2].kind != NUMBER)
		fault(s, SH_UNINIT, "r2 is no size");
	else if (s->r[2].v == 0 || s->r[2].v > INT32_MAX)
		fault(s, SH_BOUNDS, "size %" PRIu64, s->r[2].v);
	else
		mem_copy(s, &s->r[1], s->r[2].v, NULL);
	return number(edge(&s->local, s->in));
}

static void helper(struct shadow *s, int64_t id)
{
	struct val r0 = number(0);

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
		r0 = number(edge(&s->local, s->in));
		break;
	case 7:
		r0 = number((uint32_t)edge(&s->local, s->in));
		break;
	case 8:
		r0 = number(s->cpu);
		break;
	default:
		fault(s, SH_WILD, "helper %" PRId64, id);
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
		fault(s, SH_WILD, "more than %d frames", MAX_FRAMES);
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
	f->region =
		region_new(s, IN_STACK, s->nframes, f->bytes, NB_STACK_SIZE);
	s->nframes++;
	s->r[NB_R10] = pointer(s, f->region, NB_STACK_SIZE);
}

/* ---- callbacks ---------------------------------------------------------- */

static void turned(struct shadow *s, struct frame *f, const struct val *r0);

/* Arguments of the turn that begins; false: no element is left. */
static bool turn_args(struct shadow *s, struct frame *f, struct val r[4])
{
	struct map *m = &s->maps[f->map == NO_MAP ? 0 : f->map];
	uint32_t e = (uint32_t)f->turn;

	r[0] = number(f->turn);
	r[1] = f->ctx;
	r[2] = r[3] = (struct val){ 0, UNDEF, 0 };
	if (f->map == NO_MAP)
		return true;
	if (e >= m->n)
		return false;
	memcpy(f->key_bytes, m->elem[e].key, s->img->maps[f->map].key_size);
	if (!is_hash(&s->img->maps[f->map]))
		memcpy(f->key_bytes, &e, 4);
	if (!f->key)
		f->key = region_new(s, IN_KEY, f->map, f->key_bytes,
				    s->img->maps[f->map].key_size);
	r[0] = (struct val){ 0x400000000000ull + f->map * 4096u, HANDLE,
			     (uint16_t)f->map };
	r[1] = pointer(s, f->key, 0);
	r[2] = value_at(s, f->map, e, 0);
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
	if (stop || (f->map == NO_MAP && f->turn >= f->n) ||
	    !turn_args(s, f, r)) {
		for (int i = 1; i <= 5; i++)
			s->r[i].kind = UNDEF;
		if (f->key)
			s->regions[f->key].dead = true;
		s->r[0] = number(f->n);
		if (f->map == NO_MAP && f->turn < f->n)
			s->r[0] = number(f->turn);
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
		fault(s, SH_RETURN, "a callback returns %s",
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
			fault(s, SH_UNINIT, "r%d was never written", i);
	if (fn.kind != HANDLE || fn.region != NO_MAP ||
	    s->nframes == MAX_FRAMES)
		fault(s, SH_WILD, "r2 is no function");
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
		fault(s, SH_WILD, "r1 is no map");
	if (s->out->fault)
		return;
	turn(s, f, r0 != 0);
	if (r0)
		s->r[0] = number(r0);
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
		s->r[NB_R10] = pointer(s, s->frames[s->nframes - 1].region,
				       NB_STACK_SIZE);
	if (f->callback)
		turned(s, f, &r0);
}

static void check_way(struct shadow *s, bool taken)
{
	uint8_t need = taken ? NB_AUX_BRANCH_TAKEN : NB_AUX_BRANCH_FALLS;

	if (s->in->aux && !(s->in->aux[s->pc] & need))
		fault(s, SH_AUX, "a jump that never %s does",
		      taken ? "jumps" : "falls through");
}

/*
 * What other programs there are and what they do is not known here: whether
 * one is found follows from the map's label, its answer is what all ranks get.
 */
static bool tail_call(struct shadow *s)
{
	struct rng r;

	if (s->r[1].kind != POINTER || s->r[2].kind != HANDLE ||
	    s->r[2].region == NO_MAP || s->r[3].kind != NUMBER) {
		fault(s, SH_WILD, "r1 to r3 of a tail call");
		return false;
	}
	r.s = (is_local(&s->img->maps[s->r[2].region]) ? rng_next(&s->local)
						       : s->in->coherent) ^
	      (uint32_t)s->r[3].v;
	for (int i = 0; i <= 5; i++)
		s->r[i].kind = UNDEF;
	if ((uint32_t)s->r[3].v >= 4 || rng_percent(&r, 50))
		return false;
	s->r[0] = number(edge(&r, s->in));
	return true;
}

static uint32_t jump(struct shadow *s, const struct nb_insn *in)
{
	struct val a = s->r[in->dst], b = operand(s, in);
	bool taken;

	if (a.kind == UNDEF)
		fault(s, SH_UNINIT, "r%d was never written", in->dst);
	taken = holds(in, a.v, b.v);
	check_way(s, taken);
	return s->pc + 1 + (taken ? (uint32_t)in->off : 0);
}

static void lddw(struct shadow *s, const struct nb_insn *in)
{
	uint32_t map = (uint32_t)in->imm;
	struct val v = number((uint64_t)in->imm);

	if (in->fn == NB_FN_MAP)
		v = (struct val){ 0x400000000000ull + map * 4096u +
					  (s->in->local & 0xfff0) * 65536,
				  HANDLE, (uint16_t)map };
	else if (in->fn == NB_FN_MAP_VALUE)
		v = value_at(s, map, 0, (uint64_t)in->imm >> 32);
	else if (in->fn == NB_FN_FUNC) /* harmless until something calls it */
		v = (struct val){ s->pc + 1 + (uint64_t)in->off, HANDLE,
				  NO_MAP };
	s->r[in->dst] = v;
}

static void load(struct shadow *s, const struct nb_insn *in)
{
	struct val v = mem_load(s, &s->r[in->src], in->off, in->width / 8u);

	if (in->traits & NB_INSN_SIGNED)
		v = number(sext(v.v, in->width));
	if (in->traits & NB_INSN_ORDERED &&
	    (s->r[in->src].v + (uint64_t)(int64_t)in->off) % (in->width / 8u))
		fault(s, SH_ALIGN, "misaligned load-acquire");
	s->r[in->dst] = v;
}

static void store(struct shadow *s, const struct nb_insn *in)
{
	struct val v = in->operand == NB_OPND_IMM ? number((uint64_t)in->imm)
						  : s->r[in->src];

	if (in->traits & NB_INSN_ORDERED &&
	    (s->r[in->dst].v + (uint64_t)(int64_t)in->off) % (in->width / 8u))
		fault(s, SH_ALIGN, "misaligned store-release");
	mem_store(s, &s->r[in->dst], in->off, in->width / 8u, &v);
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
		} else if (in->imm == 12) {
			if (tail_call(s))
				return s->nframes > 1 ? (leave(s), true)
						      : false;
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
		fault(s, SH_WILD, "the middle of an instruction");
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

		v = edge(f->label == NB_LABEL_COHERENT ? &c : &s->local, s->in);
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
	memset(s->r, 0, sizeof(s->r));
	ctx_init(s);
	for (uint32_t pc = 0; pc < s->prog->nslots; pc++) {
		const struct nb_insn *in = &s->insns[pc];

		if (in->kind == NB_KIND_LDDW &&
		    (in->fn == NB_FN_MAP || in->fn == NB_FN_MAP_VALUE))
			named[(uint32_t)in->imm] = true;
	}
	/* Filling takes most of a run's time. */
	for (uint32_t i = 0; i < s->img->nmaps; i++)
		if (named[i])
			map_init(s, i);
	enter(s, 0);
	s->r[1] = pointer(
		s, region_new(s, IN_CTX, 0, s->out->ctx, s->hook->ctx_size), 0);
}

static void print_step(const struct shadow *s)
{
	char text[128];

	nb_disasm(text, sizeof(text), &s->insns[s->pc], NULL, NULL);
	printf("#   %u: %-36s", s->pc, text);
	for (int i = 0; i < NB_R10; i++)
		if (s->r[i].kind != UNDEF)
			printf(" r%d=%s%" PRIx64, i,
			       s->r[i].kind == NUMBER ? "" : "&", s->r[i].v);
	printf("\n");
}

void shadow_run(struct shadow *s, const struct nb_image *img,
		const struct nb_prog *prog, const struct nb_insn *insns,
		const struct sh_input *in, struct sh_result *out)
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
			fault(s, SH_WILD, "slot %u of %u", s->pc, prog->nslots);
			break;
		}
		if (out->steps++ >= in->max_steps) {
			fault(s, SH_STEPS, "more than %" PRIu64 " steps",
			      in->max_steps);
			break;
		}
		if (in->aux && !(in->aux[s->pc] & NB_AUX_REACHED)) {
			fault(s, SH_AUX, "a slot that nothing reaches");
			break;
		}
		if (in->trace &&
		    (insns[s->pc].kind != NB_KIND_JA || insns[s->pc].off))
			print_step(s);
		if (!step(s))
			break;
	}
	if (out->fault)
		return;
	if (s->r[0].kind == UNDEF ||
	    (s->r[0].kind != NUMBER && !in->returns_any))
		fault(s, SH_RETURN, "r0 is %s",
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
