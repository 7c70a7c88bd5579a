// SPDX-License-Identifier: MIT
/*
 * The segment's table of generations. Each number is used once. Its table entry
 * is reused when no rank or process can look up the number any more.
 */
#include "plugin/job/gen_numbers.h"

#include <stdio.h>
#include <string.h>

#include "core/job/segment/format.h"
#include "plugin/job/segment.h"
#include "plugin/runtime/wall_clock.h"

static bool is_zero(const uint8_t digest[NB_SHA256_SIZE])
{
	static const uint8_t zero[NB_SHA256_SIZE];

	return !memcmp(digest, zero, NB_SHA256_SIZE);
}

static void read_digest(const struct nb_seg_gen *g, uint8_t digest[NB_SHA256_SIZE])
{
	for (size_t i = 0; i < NB_SHA256_SIZE / 8; i++) {
		uint64_t w = __atomic_load_n(&g->digest[i], __ATOMIC_RELAXED);

		memcpy(digest + i * 8, &w, 8);
	}
}

static uint32_t find_gen(const struct nb_seg *mem, const uint8_t digest[NB_SHA256_SIZE])
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < NB_SEG_GENS; i++) {
		uint64_t number = __atomic_load_n(&mem->gen[i].number, __ATOMIC_ACQUIRE);
		uint8_t have[NB_SHA256_SIZE];

		read_digest(&mem->gen[i], have);
		if (number <= NB_FENCE_MAX_GEN && number > best &&
		    !memcmp(have, digest, NB_SHA256_SIZE))
			best = (uint32_t)number;
	}
	return best;
}

static bool word_has(const uint64_t *word, uint64_t number)
{
	uint64_t w = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	return nb_fence_word_state(w) != NB_FENCE_NONE && nb_fence_word_gen(w) == number;
}

/* Returns true if a process may still look up the digest of @number. */
static bool number_wanted(const struct nb_seg *mem, uint64_t number)
{
	if (!number)
		return false;
	if (nb_seg_baseline(mem) == number)
		return true;
	for (uint32_t i = 0, n = nb_seg_ncomms(mem); i < n; i++) {
		const struct nb_seg_comm *c = &mem->comm[i];

		if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE))
			continue;
		/* the ranks that have yet to register are compared with the first */
		if ((c->first == number && nb_seg_registered(c) < c->nranks) ||
		    word_has(&c->record.word, number) || word_has(&c->record.fallback, number))
			return true;
	}
	return false;
}

/*
 * Returns the next number whose table entry no process needs, or 0 if all entries
 * are needed: ranks that reach a fence late, and processes that look up the
 * baseline, need old numbers.
 */
static uint64_t next_number(const struct nb_seg *mem)
{
	uint64_t n = mem->next_gen;

	for (uint64_t i = 0; i < NB_SEG_GENS; i++) {
		const struct nb_seg_gen *g = &mem->gen[(n + i) % NB_SEG_GENS];

		if (!number_wanted(mem, __atomic_load_n(&g->number, __ATOMIC_ACQUIRE)))
			return n + i;
	}
	return 0;
}

int nb_segment_gen(struct nb_segment *s, const uint8_t digest[NB_SHA256_SIZE], bool fresh,
		   uint32_t *number, struct nb_err *err)
{
	struct nb_seg_gen *g;
	uint64_t n;

	*number = 0;
	if (!fresh) {
		if (is_zero(digest))
			return 0;
		*number = find_gen(s->mem, digest);
		if (*number)
			return 0;
	}
	n = next_number(s->mem);
	if (!n && s->mem->next_gen)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "communicators need all %d generations of the job segment's table: "
			       "destroy communicators that are not used any more",
			       NB_SEG_GENS);
	if (!n || n > NB_FENCE_MAX_GEN)
		return nb_fail(err, NB_E_LIMIT, 0, "the job has used up its %u generation numbers",
			       NB_FENCE_MAX_GEN);
	s->mem->next_gen = n + 1;
	g = &s->mem->gen[n % NB_SEG_GENS];
	__atomic_store_n(&g->number, 0, __ATOMIC_RELEASE);
	memset(g->names, 0, sizeof(g->names));
	g->fleet = 0;
	__atomic_store_n(&g->at_s, 0, __ATOMIC_RELAXED);
	for (size_t i = 0; i < NB_SHA256_SIZE / 8; i++) {
		uint64_t w;

		memcpy(&w, digest + i * 8, 8);
		__atomic_store_n(&g->digest[i], w, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&g->number, n, __ATOMIC_RELEASE);
	*number = (uint32_t)n;
	return 0;
}

int nb_segment_gen_of_fleet(struct nb_segment *s, uint64_t fleet,
			    const uint8_t digest[NB_SHA256_SIZE], uint32_t *number,
			    struct nb_err *err)
{
	struct nb_seg_gen *gen = s->mem->gen;
	uint8_t have[NB_SHA256_SIZE];
	int rc;

	for (uint32_t i = 0; fleet && i < NB_SEG_GENS; i++) {
		read_digest(&gen[i], have);
		if (gen[i].fleet != fleet || !gen[i].number || gen[i].number > NB_FENCE_MAX_GEN ||
		    memcmp(have, digest, sizeof(have)))
			continue;
		*number = (uint32_t)gen[i].number;
		return 0;
	}
	rc = nb_segment_gen(s, digest, fleet != 0, number, err);
	if (!rc && fleet)
		gen[*number % NB_SEG_GENS].fleet = fleet;
	return rc;
}

uint64_t nb_segment_fleet_number(const struct nb_segment *s, uint32_t number)
{
	const struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];
	uint64_t fleet = __atomic_load_n(&g->fleet, __ATOMIC_ACQUIRE);

	return number && __atomic_load_n(&g->number, __ATOMIC_ACQUIRE) == number ? fleet : 0;
}

void nb_segment_name(struct nb_segment *s, uint32_t number, const char *names)
{
	struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	if (number && g->number == number)
		snprintf(g->names, sizeof(g->names), "%s", names);
}

void nb_segment_sign(struct nb_segment *s, uint32_t number, const struct nb_seg_maker *maker)
{
	struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	g->maker = *maker;
	__atomic_store_n(&g->at_s, nb_wall_us() / 1000000, __ATOMIC_RELEASE);
}

bool nb_segment_signed(const struct nb_segment *s, uint32_t number, uint64_t *at_s,
		       struct nb_seg_maker *maker)
{
	const struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	*at_s = __atomic_load_n(&g->at_s, __ATOMIC_ACQUIRE);
	*maker = g->maker;
	maker->text[sizeof(maker->text) - 1] = '\0';
	return *at_s && __atomic_load_n(&g->number, __ATOMIC_ACQUIRE) == number;
}

bool nb_segment_digest(const struct nb_segment *s, uint32_t number, uint8_t digest[NB_SHA256_SIZE])
{
	const struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	memset(digest, 0, NB_SHA256_SIZE);
	if (!number)
		return true; /* number 0 is the empty generation */
	if (__atomic_load_n(&g->number, __ATOMIC_ACQUIRE) != number)
		return false;
	read_digest(g, digest);
	return true;
}

void nb_segment_prefetch(const struct nb_segment *s, uint32_t number)
{
	const struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	__builtin_prefetch(&g->number);
	__builtin_prefetch(&g->names);
}
