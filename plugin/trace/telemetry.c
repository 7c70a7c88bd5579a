// SPDX-License-Identifier: MIT
/* Rows of histograms, which are found or created by key without a lock. */
#include "plugin/trace/telemetry.h"

#include <string.h>

const char *nb_tel_func_word(uint32_t func)
{
	switch (func) {
#define PROF_FUNC(number, name, word, coll) \
	case number:                        \
		return word;
#include "core/defs/profiler.h"
	}
	return NULL;
}

const char *nb_tel_algo_word(uint32_t algo)
{
	switch (algo) {
#define NCCL_ALGO(name, value, text) \
	case value:                  \
		return text;
#include "core/defs/nccl.h"
	case NB_WORD_SYMMETRIC:
		return "symmetric";
	}
	return NULL;
}

const char *nb_tel_source_word(unsigned source)
{
	/* these are the names that NCCL's Inspector uses */
	static const char *const words[NB_NSOURCES] = {
		[NB_SOURCE_GPU] = "kernel_gpu",
		[NB_SOURCE_KERNEL_CPU] = "kernel_cpu",
		[NB_SOURCE_PROXY] = "proxy_cpu",
	};

	return source < NB_NSOURCES ? words[source] : NULL;
}

static struct nb_tel_row *row_of(struct nb_tel *t, uint64_t key)
{
	uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 56);

	_Static_assert(NB_TEL_ROWS == 256, "8 bits of the hash");
	for (uint32_t i = 0; i < NB_TEL_ROWS; i++) {
		struct nb_tel_row *r = &t->row[(at + i) % NB_TEL_ROWS];
		uint64_t have = __atomic_load_n(&r->key, __ATOMIC_RELAXED);

		if (!have && __atomic_compare_exchange_n(&r->key, &have, key, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return r;
		if (have == key)
			return r;
	}
	return NULL;
}

/* Returns the entry of a tag, or NULL if there is none and none is free. */
static struct nb_tel_tagged *tagged_of(struct nb_tel *t, uint64_t tag)
{
	uint32_t at = (uint32_t)(tag * UINT64_C(0x9e3779b97f4a7c15) >> 58);

	_Static_assert(NB_TEL_TAGS == 64, "6 bits of the hash");
	for (uint32_t i = 0; i < NB_TEL_TAGS; i++) {
		uint32_t n = (at + i) % NB_TEL_TAGS;
		uint64_t have = __atomic_load_n(&t->tag[n], __ATOMIC_RELAXED);

		if (have == tag ||
		    (!have && (__atomic_compare_exchange_n(&t->tag[n], &have, tag, false,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			       have == tag)))
			return &t->tagged[n];
	}
	return NULL;
}

static void add_tagged(struct nb_tel *t, const struct nb_sample *s)
{
	struct nb_tel_tagged *r = tagged_of(t, s->tag);

	if (!r) {
		__atomic_fetch_add(&t->tags_full, 1, __ATOMIC_RELAXED);
		return;
	}
	if (s->has[NB_TEL_ENQUEUE])
		nb_tel_time_add(&r->enqueue, s->ns[NB_TEL_ENQUEUE]);
	if (s->has[NB_TEL_EXEC])
		nb_tel_time_add(&r->exec, s->ns[NB_TEL_EXEC]);
	__atomic_fetch_add(&r->bytes_sum, s->bytes, __ATOMIC_RELAXED);
}

void nb_tel_time_add(struct nb_tel_time *t, uint64_t ns)
{
	uint64_t max = __atomic_load_n(&t->max_ns, __ATOMIC_RELAXED);

	__atomic_fetch_add(&t->count, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->sum_ns, ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->hist[nb_hist_index(ns)], 1, __ATOMIC_RELAXED);
	while (ns > max && !__atomic_compare_exchange_n(&t->max_ns, &max, ns, true,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * Record the sample for comparing ranks. A collective has the same number on
 * every rank.
 */
static void note_recent(struct nb_tel *t, uint64_t key, const struct nb_sample *s)
{
	uint64_t n = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED);
	struct nb_tel_recent *r = &t->recent[n % NB_TEL_RECENT];

	__atomic_store_n(&r->whole, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->key, key, __ATOMIC_RELEASE);
	__atomic_store_n(&r->seq, s->seq, __ATOMIC_RELEASE);
	__atomic_store_n(&r->ns, s->ns[NB_TEL_EXEC], __ATOMIC_RELEASE);
	__atomic_store_n(&r->whole, n + 1, __ATOMIC_RELEASE);
}

bool nb_tel_recent(const struct nb_tel *t, uint64_t n, struct nb_tel_recent *out)
{
	const struct nb_tel_recent *r = &t->recent[n % NB_TEL_RECENT];

	if (__atomic_load_n(&r->whole, __ATOMIC_ACQUIRE) != n + 1)
		return false;
	out->whole = n + 1;
	out->key = __atomic_load_n(&r->key, __ATOMIC_ACQUIRE);
	out->seq = __atomic_load_n(&r->seq, __ATOMIC_ACQUIRE);
	out->ns = __atomic_load_n(&r->ns, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&r->whole, __ATOMIC_RELAXED) == n + 1;
}

void nb_tel_add(struct nb_tel *t, const struct nb_sample *s)
{
	uint64_t key = nb_tel_key(s->func, s->bytes, s->algo, s->proto);
	struct nb_tel_row *r = row_of(t, key);

	/* tags with the highest bit are NCCL's own */
	if (s->tag && !(s->tag >> 63))
		add_tagged(t, s);
	if (!r) {
		__atomic_fetch_add(&t->full, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&r->bytes_last, s->bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&r->channels_last, s->channels, __ATOMIC_RELAXED);
	for (int k = 0; k < NB_TEL_NKINDS; k++)
		if (s->has[k])
			nb_tel_time_add(&r->time[k], s->ns[k]);
	if (!s->has[NB_TEL_EXEC])
		return;
	__atomic_fetch_add(&r->bytes_sum, s->bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&r->source, s->source, __ATOMIC_RELAXED);
	/*
	 * compare only collectives, because sends and receives have no common
	 * number
	 */
	if (s->algo != NB_WORD_NONE)
		note_recent(t, key, s);
}

void nb_tel_time_clear(struct nb_tel_time *t)
{
	__atomic_store_n(&t->count, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->sum_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->max_ns, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < NB_HIST_BUCKETS; i++)
		__atomic_store_n(&t->hist[i], 0, __ATOMIC_RELAXED);
}

void nb_tel_clear(struct nb_tel *t)
{
	__atomic_store_n(&t->full, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->tags_full, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < NB_TEL_TAGS; i++) {
		if (!__atomic_load_n(&t->tag[i], __ATOMIC_RELAXED))
			continue;
		nb_tel_time_clear(&t->tagged[i].enqueue);
		nb_tel_time_clear(&t->tagged[i].exec);
		__atomic_store_n(&t->tagged[i].bytes_sum, 0, __ATOMIC_RELAXED);
	}
	for (uint32_t i = 0; i < NB_TEL_RECENT; i++)
		__atomic_store_n(&t->recent[i].whole, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < NB_TEL_ROWS; i++) {
		struct nb_tel_row *r = &t->row[i];

		if (!__atomic_load_n(&r->key, __ATOMIC_RELAXED))
			continue;
		for (int k = 0; k < NB_TEL_NKINDS; k++)
			nb_tel_time_clear(&r->time[k]);
		__atomic_store_n(&r->bytes_sum, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&r->bytes_last, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&r->channels_last, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&r->source, NB_SOURCE_NONE, __ATOMIC_RELAXED);
	}
}

void nb_tel_forget(struct nb_tel *t)
{
	/* do not touch memory of unused rows: most jobs never measure */
	for (uint32_t i = 0; i < NB_TEL_ROWS; i++)
		if (__atomic_load_n(&t->row[i].key, __ATOMIC_RELAXED))
			__atomic_store_n(&t->row[i].key, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < NB_TEL_TAGS; i++)
		if (__atomic_load_n(&t->tag[i], __ATOMIC_RELAXED))
			__atomic_store_n(&t->tag[i], 0, __ATOMIC_RELAXED);
}

double nb_tel_bus_factor(uint32_t func, int32_t ranks)
{
	enum { ALL_GATHER = 2, REDUCE_SCATTER = 3, ALL_REDUCE = 4 };
	double n = ranks;

	if (ranks <= 0)
		return 0;
	switch (func) {
	case ALL_REDUCE:
		return 2 * (n - 1) / n;
	case ALL_GATHER:
	case REDUCE_SCATTER:
		return (n - 1) / n;
	}
	return 1;
}
