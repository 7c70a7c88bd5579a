// SPDX-License-Identifier: MIT
// The machine's memory. An address is a region and an offset; a region is one
// object that can be accessed, and what is lent for a time has a region of
// its own, so that no address of it is good afterwards.
#include "test/differential/embedding/embed.h"

#include <string.h>

#include "core/bpf/verify/access/access.h"

uint64_t em_local(void)
{
	em.local ^= em.local << 13;
	em.local ^= em.local >> 7;
	em.local ^= em.local << 17;
	return em.local * 2685821657736338717ull;
}

uint64_t em_mix(uint64_t a, uint64_t b)
{
	uint64_t z = a * 0x9e3779b97f4a7c15ull ^ b;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t em_address(uint32_t region, uint64_t off)
{
	return ((uint64_t)region << em.region_bits) + em.salt + off;
}

uint32_t em_region(uint64_t a)
{
	return (uint32_t)((a - em.salt) >> em.region_bits);
}

uint64_t em_offset(uint64_t a)
{
	return (a - em.salt) & (((uint64_t)1 << em.region_bits) - 1);
}

bool em_fault(const char *what)
{
	if (!em.fault)
		em.fault = what;
	return false;
}

/* ---- objects on the stack ---- */

int em_object_at(uint64_t a)
{
	uint32_t frame = em_region(a) - EM_R_STACK;

	for (uint32_t i = em.nobjects; i-- > 0;)
		if (em.objects[i].live && em.objects[i].frame == frame &&
		    em.objects[i].off == em_offset(a))
			return (int)i;
	return -1;
}

/* Bytes of a frame may be written that belong to no object. */
static bool overwrite(uint32_t frame, uint64_t off, uint64_t size)
{
	for (uint32_t i = em.nobjects; i-- > 0;) {
		const struct em_object *o = &em.objects[i];

		if (o->live && o->frame == frame && off + size > o->off && o->off + o->size > off)
			return em_fault("store into what a helper keeps");
	}
	return true;
}

int em_object_new(uint64_t a, uint32_t size)
{
	uint32_t frame = em_region(a) - EM_R_STACK;
	uint64_t off = em_offset(a);

	if (frame >= em.nframes || off + size > NB_STACK_SIZE || off % 8) {
		em_fault("no place for an object");
		return -1;
	}
	if (!overwrite(frame, off, size))
		return -1;
	/* The latest, if dead, make room. */
	while (em.nobjects && !em.objects[em.nobjects - 1].live)
		em.nobjects--;
	if (em.nobjects == EM_OBJECTS) {
		em.over = true;
		return -1;
	}
	memset(em.frames[frame].init + off, 0, size);
	em.objects[em.nobjects] = (struct em_object){
		.live = true, .frame = frame, .off = (uint32_t)off, .size = size
	};
	return (int)em.nobjects++;
}

void em_object_end(uint32_t n)
{
	struct em_object *o = &em.objects[n];

	o->live = false;
	memset(em.frames[o->frame].init + o->off, 0, o->size);
	for (uint32_t i = 0; i < em.nlent; i++)
		if (em.lent[i].object == n && em.lent[i].kind == EM_NUMBER)
			em.lent[i].live = false;
}

/* ---- what is lent and held ---- */

uint32_t em_lend(enum em_lent_kind kind, uint8_t *bytes, uint32_t size, uint32_t object)
{
	if (em.nlent == EM_LENT) {
		em.over = true;
		return 0;
	}
	em.lent[em.nlent] = (struct em_lent){
		.kind = (uint8_t)kind, .live = true, .size = size, .object = object, .bytes = bytes
	};
	return em.nlent++;
}

void em_hold(enum nb_ref_kind kind, uint32_t what)
{
	if (em.nheld == EM_HELD) {
		em_fault("too much is held");
		return;
	}
	em.held[em.nheld++] = (struct em_held){ (uint8_t)kind, em.nframes - 1, what };
}

bool em_release(enum nb_ref_kind kind, uint32_t what)
{
	for (uint32_t i = 0; i < em.nheld; i++) {
		if (em.held[i].kind != kind || em.held[i].what != what)
			continue;
		em.nheld--;
		memmove(&em.held[i], &em.held[i + 1], (em.nheld - i) * sizeof(em.held[0]));
		return true;
	}
	return em_fault("given back, but not held");
}

void em_keep(void)
{
	for (uint32_t i = 0; i < em.nheld; i++)
		if (em.held[i].frame >= em.nframes)
			em.held[i].frame = em.nframes - 1;
}

bool em_leave_frame(uint32_t frame, bool all_returned)
{
	for (uint32_t i = 0; all_returned && i < em.nheld; i++)
		if (em.held[i].frame >= frame)
			return em_fault("held at the end");
	for (uint32_t i = em.nobjects; i-- > 0;)
		if (em.objects[i].live && em.objects[i].frame == frame)
			return em_fault("an object is left behind");
	return true;
}

/* ---- access ---- */

static uint8_t *of_value(uint32_t region, uint64_t off, uint64_t size, bool write)
{
	uint32_t map = (region - EM_R_VALUE) / EM_ELEMS;
	const struct nb_map_spec *s = &em_maps[map];
	uint8_t *p = em_element(map, (region - EM_R_VALUE) % EM_ELEMS)->bytes;

	if (off + size > s->value_size) {
		em_fault("access outside a value");
		return NULL;
	}
	if (write && (s->flags & NB_F_RDONLY_PROG ||
		      !(em_map_is_local(map) ||
			(s->tags & NB_MAPF_REPLICATED && em_prog.hook->id == NB_HOOK_COLL_API)))) {
		em_fault("store into a read-only map");
		return NULL;
	}
	if (!write && size && s->flags & NB_F_WRONLY_PROG) {
		em_fault("read of a write-only map");
		return NULL;
	}
	em.ran[EM_F_STATE] |= write && s->tags & NB_MAPF_REPLICATED;
	/* Others write local maps at any time. */
	if (size && em_map_is_local(map) && em_local() % 4 == 0)
		p[off] = (uint8_t)em_local();
	return p + off;
}

static uint8_t *of_lent(uint32_t n, uint64_t off, uint64_t size, bool write)
{
	const struct em_lent *l = &em.lent[n];

	if (!l->live) {
		em_fault("access to what was given back");
		return NULL;
	}
	if (off < l->base || off - l->base + size > l->size) {
		em_fault("access outside what is lent");
		return NULL;
	}
	if (write && (l->kind == EM_NUMBER || l->kind == EM_KEY)) {
		em_fault("store into what is only read");
		return NULL;
	}
	em.ran[EM_F_SAMPLE_USE] |= l->kind == EM_SAMPLE;
	return l->bytes + off - l->base;
}

static bool is_output(uint64_t off, uint64_t size)
{
	const struct nb_hook_spec *h = em_prog.hook;
	uint64_t in = 0;

	for (uint64_t at = off; at < off + size; at++)
		for (size_t i = 0; i < h->nfields; i++)
			in += h->fields[i].access == NB_OUT &&
			      at - h->fields[i].off < h->fields[i].size;
	return in == size;
}

static uint32_t put_state(uint8_t *to, uint32_t map)
{
	uint32_t n = 0, size = em_maps[map].value_size;

	for (uint32_t e = 0; e < EM_ELEMS && n + size <= EM_OUTPUTS - EM_CTX; e++, n += size)
		memcpy(to + n, em_element(map, e)->bytes, size);
	return n;
}

uint32_t em_outputs(uint8_t to[EM_OUTPUTS])
{
	const struct nb_hook_spec *h = em_prog.hook;
	uint32_t n = 0;

	for (size_t i = 0; i < h->nfields; i++) {
		if (h->fields[i].access != NB_OUT)
			continue;
		memcpy(to + n, em.ctx + h->fields[i].off, h->fields[i].size);
		n += h->fields[i].size;
	}
	for (uint32_t m = 0; m < em_nmaps; m++)
		if (em_maps[m].tags & NB_MAPF_REPLICATED)
			return n + put_state(to + n, m);
	return n;
}

uint8_t *em_memory(uint64_t a, uint64_t size, bool write, uint8_t **init)
{
	uint32_t region = em_region(a);
	uint64_t off = em_offset(a);

	*init = NULL;
	if (region == EM_R_CTX && off + size <= em_prog.hook->ctx_size) {
		if (!write || is_output(off, size))
			return em.ctx + off;
		em_fault("store into an input");
		return NULL;
	}
	if (region == EM_R_PLAIN && off + size <= em_prog.plain)
		return em.plain + off;
	if (region >= EM_R_STACK && region < EM_R_STACK + em.nframes &&
	    off + size <= NB_STACK_SIZE) {
		struct em_frame *f = &em.frames[region - EM_R_STACK];

		if (write && size && !overwrite(region - EM_R_STACK, off, size))
			return NULL;
		*init = f->init + off;
		return f->stack + off;
	}
	if (region >= EM_R_VALUE && region < EM_R_VALUE + em_nmaps * EM_ELEMS)
		return of_value(region, off, size, write);
	if (region >= EM_R_LENT && region - EM_R_LENT < em.nlent)
		return of_lent(region - EM_R_LENT, off, size, write);
	em_fault("access outside memory");
	return NULL;
}

bool em_read(uint64_t a, uint64_t size, uint8_t *to, uint64_t *hash)
{
	uint8_t *init, *p = em_memory(a, size, false, &init);

	if (!p)
		return false;
	for (uint64_t i = 0; init && i < size; i++)
		if (!init[i])
			return em_fault("read of unwritten stack");
	for (uint64_t i = 0; hash && i < size; i++)
		*hash = em_mix(*hash, p[i]);
	if (to)
		memcpy(to, p, size);
	return true;
}

bool em_write(uint64_t a, uint64_t size, const uint8_t *from)
{
	uint8_t *init, *p = em_memory(a, size, true, &init);

	if (!p)
		return false;
	if (init)
		memset(init, 1, size);
	memmove(p, from, size);
	return true;
}

static void note_fill(uint64_t a, unsigned size)
{
	uint32_t region = em_region(a);

	if (region < EM_R_STACK || region >= EM_R_STACK + NB_MAX_FRAMES)
		return;
	em.ran[size == 1   ? EM_F_SPILL1
	       : size == 2 ? EM_F_SPILL2
	       : size == 4 ? EM_F_SPILL4
			   : EM_F_SPILL8] = true;
}

bool em_load(uint64_t a, unsigned size, uint64_t *out)
{
	*out = 0;
	note_fill(a, size);
	return em_read(a, size, (uint8_t *)out, NULL);
}

bool em_store(uint64_t a, unsigned size, uint64_t v)
{
	return em_write(a, size, (const uint8_t *)&v);
}
