// SPDX-License-Identifier: MIT
// The machine's helpers, from bpf-helpers(7) and core/defs/helpers.h. What a
// helper may answer is answered at random: by the local seed, or, where all
// ranks get the same, by what they have in common.
#include "test/differential/embedding/embed.h"

#include <string.h>

static uint64_t arg(unsigned r)
{
	return em_top()->reg[r];
}

static bool answer(uint64_t r0)
{
	em_top()->written &= ~0x3fu;
	em_set(0, r0);
	return true;
}

static bool needs(unsigned n)
{
	for (unsigned r = 1; r <= n; r++)
		if (!em_need(r))
			return false;
	return true;
}

static const uint64_t failed = (uint64_t)-22;

/* ---- maps ---- */

enum { NONE = EM_MOST_MAPS };

/* The map whose handle is in r1; NONE and a fault: none. */
static uint32_t map_arg(void)
{
	uint32_t map = em_region(arg(1)) - EM_R_HANDLE;

	if (map < em_nmaps && !em_offset(arg(1)))
		return map;
	em_fault("not a map");
	return NONE;
}

static bool is_array(uint32_t map)
{
	return em_maps[map].type == NB_MAP_ARRAY || em_maps[map].type == NB_MAP_PERCPU_ARRAY;
}

/* The element of a key, or -1. */
static int element(uint32_t map, uint64_t key)
{
	const struct nb_map_spec *s = &em_maps[map];

	if (is_array(map))
		return key < s->max_entries ? (int)(key % EM_ELEMS) : -1;
	for (uint32_t e = 0; e < EM_ELEMS; e++)
		if (em_element(map, e)->used && em_element(map, e)->key == key)
			return (int)e;
	return -1;
}

static void note_map(uint32_t map)
{
	static const uint8_t of[] = {
		[NB_MAP_ARRAY] = EM_F_ARRAY,
		[NB_MAP_HASH] = EM_F_HASH,
		[NB_MAP_PERCPU_ARRAY] = EM_F_PERCPU_ARRAY,
		[NB_MAP_LRU_HASH] = EM_F_LRU,
	};

	if (em_maps[map].type < sizeof(of) && of[em_maps[map].type])
		em.ran[of[em_maps[map].type]] = true;
}

static bool lookup(bool of_cpu)
{
	uint32_t map = map_arg();
	uint64_t key = 0;
	int e;

	if (!needs(of_cpu ? 3 : 2) || map == NONE ||
	    !em_read(arg(2), em_maps[map].key_size, (uint8_t *)&key, NULL))
		return false;
	if (!em_maps[map].key_size)
		return em_fault("a map without look-ups");
	e = of_cpu && (uint32_t)arg(3) >= 4 ? -1 : element(map, key);
	if (e < 0)
		return answer(0);
	note_map(map);
	em.ran[EM_F_OTHER_CPU] |= of_cpu;
	return answer(em_address(EM_R_VALUE + map * EM_ELEMS + (uint32_t)e, 0));
}

static bool may_write(uint32_t map)
{
	return em_map_is_local(map) && !(em_maps[map].flags & NB_F_RDONLY_PROG)
		       ? true
		       : em_fault("a read-only map is written");
}

/* Controllers also change elements of coherent maps. */
static bool may_change(uint32_t map)
{
	const struct nb_map_spec *s = &em_maps[map];

	return (em_prog.hook->id == NB_HOOK_CONTROLLER && s->origin == NB_ORIGIN_DEFINED &&
		s->tags & NB_MAPF_COHERENT) ||
	       may_write(map);
}

static bool update(void)
{
	uint32_t map = map_arg();
	uint64_t key = 0;
	uint8_t value[EM_VALUE];
	struct em_value *v;
	int e;

	if (!needs(4) || map == NONE || !may_change(map) ||
	    !em_read(arg(2), em_maps[map].key_size, (uint8_t *)&key, NULL) ||
	    !em_read(arg(3), em_maps[map].value_size, value, NULL))
		return false;
	em.ran[EM_F_UPDATE] = true;
	e = element(map, key);
	if (e < 0 && is_array(map))
		return answer((uint64_t)-7);
	if (e < 0)
		e = (int)(em_local() % EM_ELEMS);
	v = em_element(map, (uint32_t)e);
	if (!is_array(map) && v->key != key && v->used && em_local() % 2)
		return answer((uint64_t)-7);
	v->used = true;
	v->key = key;
	memcpy(v->bytes, value, em_maps[map].value_size);
	return answer(0);
}

static bool delete (void)
{
	uint32_t map = map_arg();
	uint64_t key = 0;
	int e;

	if (!needs(2) || map == NONE || !may_change(map) ||
	    !em_read(arg(2), em_maps[map].key_size, (uint8_t *)&key, NULL))
		return false;
	em.ran[EM_F_DELETE] = true;
	e = element(map, key);
	if (is_array(map))
		return answer(failed);
	if (e >= 0)
		em_element(map, (uint32_t)e)->used = false;
	return answer(e >= 0 ? 0 : (uint64_t)-2);
}

/* ---- ring buffer ---- */

static uint8_t *pool(uint64_t size)
{
	uint8_t *p = em.pool + em.pool_used;

	if (em_local() % 4 == 0 || size > 128 || em.pool_used + size > EM_POOL)
		return NULL;
	for (uint64_t i = 0; i < size; i += 8) {
		uint64_t v = em_local();

		memcpy(p + i, &v, 8);
	}
	em.pool_used += (uint32_t)(size + 7) & ~7u;
	return p;
}

static bool is_ring(void)
{
	uint32_t map = map_arg();

	return map != NONE && em_maps[map].type == NB_MAP_RINGBUF ? true
								  : em_fault("not a ring buffer");
}

static bool reserve(void)
{
	uint8_t *p;
	uint32_t n;

	if (!needs(3) || !is_ring())
		return false;
	p = arg(3) ? NULL : pool((uint32_t)arg(2));
	if (!p) {
		em.ran[EM_F_RESERVE_NULL] = true;
		return answer(0);
	}
	n = em_lend(EM_SAMPLE, p, (uint32_t)arg(2), UINT32_MAX);
	if (em.over)
		return false;
	em_hold(NB_REF_SAMPLE, n);
	em.ran[EM_F_RESERVE] = true;
	return answer(em_address(EM_R_LENT + n, 0));
}

static bool give_back(bool submit)
{
	uint32_t n = em_region(arg(1)) - EM_R_LENT;

	if (!needs(2))
		return false;
	if (n >= em.nlent || em.lent[n].kind != EM_SAMPLE || em_offset(arg(1)))
		return em_fault("not a record");
	if (!em_release(NB_REF_SAMPLE, n))
		return false;
	em.lent[n].live = false;
	em.ran[submit ? EM_F_SUBMIT : EM_F_DISCARD] = true;
	em_top()->written &= ~0x3fu;
	return true;
}

static bool output(void)
{
	em.ran[EM_F_OUTPUT] = true;
	if (!needs(4) || !is_ring() || (arg(3) && !em_read(arg(2), arg(3), NULL, NULL)))
		return false;
	return answer(em_local() % 2 ? 0 : (uint64_t)-11);
}

/* ---- iterators ---- */

static bool iter_new(void)
{
	int32_t start = (int32_t)arg(2), end = (int32_t)arg(3);
	int64_t n = (int64_t)end - start;
	bool bad = n<0, big = n> NB_LOOP_MAX;
	struct em_object *it;
	int o;

	if (!needs(3))
		return false;
	o = em_object_new(arg(1), 8);
	if (o < 0)
		return false;
	it = &em.objects[o];
	it->cur = it->end = 0;
	it->sure = false;
	if (!bad && !big) {
		it->cur = (int32_t)((uint32_t)start - 1);
		it->end = end;
		it->sure = n <= NB_MAX_COUNTED_RANGE && n <= em.iter_steps;
		if (it->sure)
			em.iter_steps -= (uint32_t)n;
	}
	em_hold(NB_REF_ITER, (uint32_t)o);
	return answer(bad ? failed : big ? (uint64_t)-7 : 0);
}

static struct em_object *iterator(void)
{
	int o = needs(1) ? em_object_at(arg(1)) : -1;

	if (o >= 0)
		return &em.objects[o];
	em_fault("no iterator there");
	return NULL;
}

static bool iter_next(void)
{
	struct em_object *it = iterator();
	int32_t cur;
	uint32_t n;

	if (!it)
		return false;
	cur = (int32_t)((uint32_t)it->cur + 1);
	if (cur >= it->end || (!it->sure && !em.iterations)) {
		it->cur = it->end = 0;
		em.ran[EM_F_ITER_END] = true;
		return answer(0);
	}
	if (!it->sure)
		em.iterations--;
	it->cur = cur;
	em_charge();
	em.ran[EM_F_ITER] = true;
	n = em_lend(EM_NUMBER, (uint8_t *)&it->cur, 4, (uint32_t)(it - em.objects));
	return !em.over && answer(em_address(EM_R_LENT + n, 0));
}

static bool iter_destroy(void)
{
	struct em_object *it = iterator();
	uint32_t n = (uint32_t)(it - em.objects);

	if (!it || !em_release(NB_REF_ITER, n))
		return false;
	em_object_end(n);
	em_top()->written &= ~0x3fu;
	return true;
}

/* ---- the rest ---- */

static bool text(int64_t id)
{
	uint64_t hash = em_mix(em.shared, arg(3));

	em.ran[EM_F_TEXT] = true;
	if (!needs(id == 6 ? 2 : 4) || !em_read(arg(1), arg(2), NULL, &hash))
		return false;
	if (id == 6)
		return answer(em_local() % 64);
	return em_store(arg(4), 8, hash) && answer(hash % 5);
}

static bool cost(int64_t id)
{
	unsigned n = id == 0x20001 || id == 0x20004 ? 3 : 2;
	uint64_t v = em_mix(em.shared, (uint64_t)id);

	if (!needs(n))
		return false;
	if (id != 0x20004 && arg(1) != em_address(EM_R_CTX, 0))
		return em_fault("not the context");
	for (unsigned r = id == 0x20004 ? 1 : 2; r <= n; r++)
		v = em_mix(v, arg(r));
	em.ran[EM_F_COST] = true;
	return answer(v % 4 ? v % 8 : (uint64_t)-1);
}

bool em_helper(int64_t id)
{
	switch (id) {
	case 1:
	case 195:
		return lookup(id == 195);
	case 2:
		return update();
	case 3:
		return delete ();
	case 5:
		return answer(em_local() >> 8);
	case 7:
		return answer((uint32_t)em_local());
	case 8:
		return answer(em_local() % 64);
	case 6:
	case 105:
	case 106:
		return text(id);
	case 130:
		return output();
	case 131:
		return reserve();
	case 132:
	case 133:
		return give_back(id == 132);
	case 134:
		return needs(2) && is_ring() && answer(em_local() % 4096);
	case 0x10001:
		return iter_new();
	case 0x10002:
		return iter_next();
	case 0x10003:
		return iter_destroy();
	case 0x20001:
	case 0x20002:
	case 0x20003:
	case 0x20004:
		return cost(id);
	default:
		em.over = em.lacks = true;
		return false;
	}
}
