// SPDX-License-Identifier: MIT
// Memory of the shadow interpreter: regions, maps, and each access checked
// against the one object that its address points into.
#include "test/differential/oracle/shadow_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sh_fail(struct shadow *s, enum sh_fault f, const char *fmt, ...)
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

struct val sh_number(uint64_t v)
{
	return (struct val){ v, NUMBER, 0 };
}

/* ---- random contents -------------------------------------------------- */

/* Numbers near those where programs go wrong. */
uint64_t sh_edge(struct rng *r, const struct sh_input *in)
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

static void fill(struct rng *r, const struct sh_input *in, uint8_t *p, uint32_t size)
{
	uint32_t at = 0, step;
	uint64_t v;

	while (at < size) {
		v = rng_percent(r, 20) ? 0 : sh_edge(r, in);
		step = 1u << rng_below(r, 4);
		step = step > size - at ? size - at : step;
		memcpy(p + at, &v, step);
		at += step;
	}
}

/* ---- regions ----------------------------------------------------------- */

uint16_t sh_region_new(struct shadow *s, enum place place, uint32_t of, uint8_t *bytes,
		       uint32_t size)
{
	struct region *g;

	if (place == IN_STACK) {
		g = &s->regions[of + 1];
	} else if (s->nregions < MAX_REGIONS) {
		g = &s->regions[s->nregions++];
	} else {
		sh_fail(s, SH_STEPS, "the run has too many objects");
		return 0;
	}
	/* Far from each other, as addresses of a process look, or below
	 * 512 MiB, where a heap may lie. */
	if (s->low)
		g->base = 0x400000 + (uint64_t)(g - s->regions) * 0x40000 +
			  (uint64_t)rng_below(&s->local, 0x2000) * 16;
	else
		g->base = 0x500000000000ull + (uint64_t)(g - s->regions) * 0x10000000ull +
			  (uint64_t)rng_below(&s->local, 0x100000) * 16;
	g->place = place;
	g->of = of;
	g->bytes = bytes;
	g->size = size;
	g->dead = false;
	return (uint16_t)(g - s->regions);
}

struct val sh_pointer(struct shadow *s, uint16_t region, uint64_t off)
{
	return (struct val){ s->regions[region].base + off, POINTER, region };
}

bool sh_is_local(const struct nb_map_spec *m)
{
	return !(m->tags & NB_MAPF_COHERENT) && m->origin != NB_ORIGIN_RODATA;
}

bool sh_is_hash(const struct nb_map_spec *m)
{
	return m->type == NB_MAP_HASH;
}

/* Contents before the run: coherent and constant ones from the shared seed. */
void sh_map_init(struct shadow *s, uint32_t i)
{
	const struct nb_map_spec *spec = &s->img->maps[i];
	struct map *m = &s->maps[i];
	struct rng r = { (sh_is_local(spec) ? s->in->local : s->in->coherent) + i * 7919u };

	m->n = spec->max_entries < MAX_ELEMS ? spec->max_entries : MAX_ELEMS;
	if (m->n * (uint64_t)spec->value_size > MAP_BYTES)
		m->n = MAP_BYTES / spec->value_size;
	for (uint32_t e = 0; e < m->n; e++) {
		struct elem *x = &m->elem[e];

		x->value = m->values + (size_t)e * spec->value_size;
		x->region = 0;
		x->present = !sh_is_hash(spec) || rng_percent(&r, 60);
		fill(&r, s->in, x->key, spec->key_size);
		fill(&r, s->in, x->value, spec->value_size);
		if (spec->origin == NB_ORIGIN_RODATA && spec->init)
			memcpy(x->value, spec->init, spec->value_size);
	}
}

struct val sh_value_at(struct shadow *s, uint32_t map, uint32_t e, uint64_t off)
{
	struct elem *x = &s->maps[map].elem[e];

	if (!x->region)
		x->region = sh_region_new(s, IN_VALUE, map, x->value, s->img->maps[map].value_size);
	return sh_pointer(s, x->region, off);
}

struct elem *sh_hash_find(struct shadow *s, uint32_t map, const uint8_t *key)
{
	struct map *m = &s->maps[map];

	for (uint32_t e = 0; e < m->n; e++)
		if (m->elem[e].present && !memcmp(m->elem[e].key, key, s->img->maps[map].key_size))
			return &m->elem[e];
	return NULL;
}

/* ---- memory ------------------------------------------------------------ */

struct span {
	struct region *g;
	uint32_t off;
};

static bool find(struct shadow *s, const struct val *p, int64_t off, uint64_t size,
		 struct span *out)
{
	struct region *g;
	uint64_t at;

	if (p->kind == UNDEF) {
		sh_fail(s, SH_UNINIT, "address was never written");
		return false;
	}
	if (p->kind != POINTER) {
		sh_fail(s, SH_BOUNDS, "0x%" PRIx64 " is no address", p->v);
		return false;
	}
	g = &s->regions[p->region];
	at = p->v + (uint64_t)off - g->base;
	if (g->dead) {
		sh_fail(s, SH_DANGLES, "the frame is gone");
		return false;
	}
	if (size > g->size || at > g->size - size) {
		sh_fail(s, SH_BOUNDS, "%" PRIu64 " bytes at %" PRId64 " of %u (%s %u)", size,
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

	if (g->place == IN_VALUE && s->img->maps[g->of].flags & NB_F_WRONLY_PROG)
		sh_fail(s, SH_ACCESS, "map %u is write-only", g->of);
	for (uint64_t i = 0; g->place == IN_STACK && i < size; i++)
		if (!s->frames[g->of].init[a->off + i])
			sh_fail(s, SH_UNINIT, "frame %u byte %d never written", g->of,
				(int)(a->off + i) - (int)NB_STACK_SIZE);
}

static void allow_write(struct shadow *s, const struct span *a, uint64_t size)
{
	const struct region *g = a->g;
	const struct nb_map_spec *m;
	const struct nb_field_spec *f;

	if (g->place == IN_KEY)
		sh_fail(s, SH_ACCESS, "a key is only read");
	if (g->place == IN_VALUE) {
		m = &s->img->maps[g->of];
		if (m->flags & NB_F_RDONLY_PROG || !sh_is_local(m))
			sh_fail(s, SH_ACCESS, "map %u is read-only", g->of);
	}
	for (uint64_t i = 0; g->place == IN_CTX && i < size; i++) {
		f = nb_spec_field(s->hook, a->off + (uint32_t)i);
		if (!f || f->access != NB_OUT)
			sh_fail(s, SH_ACCESS, "context byte %u is an input", a->off + (uint32_t)i);
	}
}

/* Another thread may have been here. */
static void disturb(struct shadow *s, const struct span *a, uint64_t size)
{
	if (a->g->place == IN_VALUE && sh_is_local(&s->img->maps[a->g->of]) &&
	    rng_percent(&s->local, 25))
		fill(&s->local, s->in, a->g->bytes + a->off, (uint32_t)size);
}

struct val sh_mem_load(struct shadow *s, const struct val *p, int64_t off, uint32_t size)
{
	uint64_t v = 0;
	struct span a;

	if (!find(s, p, off, size, &a))
		return sh_number(0);
	allow_read(s, &a, size);
	if (a.g->place == IN_STACK && size == 8 && !(a.off & 7)) {
		const struct val *w = &s->frames[a.g->of].whole[a.off / 8];

		if (w->kind == POINTER || w->kind == HANDLE)
			return *w;
	}
	disturb(s, &a, size);
	memcpy(&v, a.g->bytes + a.off, size);
	return sh_number(v);
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

void sh_mem_store(struct shadow *s, const struct val *p, int64_t off, uint32_t size,
		  const struct val *v)
{
	struct span a;

	if (v->kind == UNDEF)
		sh_fail(s, SH_UNINIT, "stored value was never written");
	if (!find(s, p, off, size, &a))
		return;
	allow_write(s, &a, size);
	memcpy(a.g->bytes + a.off, &v->v, size);
	mem_touch(s, &a, size);
	if (a.g->place == IN_STACK && size == 8 && !(a.off & 7))
		s->frames[a.g->of].whole[a.off / 8] = *v;
}

bool sh_mem_copy(struct shadow *s, const struct val *p, uint64_t size, uint8_t *to)
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
