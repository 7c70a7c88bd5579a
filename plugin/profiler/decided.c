// SPDX-License-Identifier: MIT
/* Finds the tuner's decision that a collective ran with. */
#include "plugin/profiler/decided.h"

#include "core/job/segment/format.h"
#include "plugin/hooks/hooks.h"
#include "plugin/runtime/relaxed.h"
#include "plugin/trace/ring.h"

/*
 * A mark is the number of decisions made, and how many of them may be the
 * task's: MANY if these are more than MOST. AT_FOUND is set if they have been
 * searched.
 */
enum { AT_WINDOW = 48, AT_FOUND = 63, MOST = 64, MANY };

static uint64_t mark_next(struct nb_pcomm *pc)
{
	const uint64_t *count = GET(pc->decided);
	uint64_t n = count ? __atomic_load_n(count, __ATOMIC_RELAXED) : 0;
	uint64_t now = GET(pc->decided_now), from = GET(pc->decided_from), window;

	if (n != now) {
		/* the first group that is seen: all that is known is where it ends */
		from = now ? now : n - (n < MOST ? n : MOST);
		SET(pc->decided_from, from);
		SET(pc->decided_now, n);
	}
	window = n - from;
	/* also if another thread has seen a later number */
	if (window > MOST)
		window = MANY;
	return (n & ((UINT64_C(1) << AT_WINDOW) - 1)) | window << AT_WINDOW;
}

/* Read decision @k. Returns false if it was overwritten. */
static bool decided_read(const struct nb_packed *from, uint64_t k, struct nb_decided *out)
{
	for (int w = 0; w < NB_PACKED_WORDS; w++)
		out->packed.word[w] = GET(from[k % NB_RING].word[w]);
	out->n = k + 1;
	return nb_unpack(&out->packed, &nb_seg_chunks(from)[k % NB_RING], k, &out->d);
}

/* Returns how well decision @d fits the collective @o; 0: not at all. */
static int decided_fit(const struct nb_decision *d, const struct nb_decided_task *o)
{
	if ((uint32_t)d->coll != o->func || d->bytes < o->bytes || (uint32_t)d->algo != o->algo ||
	    (uint32_t)d->proto != o->proto)
		return 0;
	return d->bytes == o->bytes ? 2 : 1;
}

static bool decided_alike(const struct nb_decision *a, const struct nb_decision *b)
{
	return a->algo == b->algo && a->proto == b->proto && a->channels == b->channels &&
	       a->chunk_size == b->chunk_size && a->by == b->by && a->generation == b->generation;
}

static void decided_search(const struct nb_pcomm *pc, uint64_t mark,
			   const struct nb_decided_task *task, struct nb_decided *out)
{
	const struct nb_packed *from = GET(pc->ring);
	uint64_t n = mark & ((UINT64_C(1) << AT_WINDOW) - 1), window = mark >> AT_WINDOW;
	struct nb_decided one;
	int best = 0;

	out->n = 0;
	if (!from || window == MANY || task->algo == NB_WORD_SYMMETRIC)
		return;
	for (uint64_t k = n; k > n - window && k > 0; k--) {
		int fit;

		if (!decided_read(from, k - 1, &one)) {
			out->n = 0;
			return;
		}
		fit = decided_fit(&one.d, task);
		if (fit > best) {
			best = fit;
			*out = one;
		} else if (fit && fit == best && !decided_alike(&one.d, &out->d)) {
			out->n = 0;
		}
	}
}

void nb_decided_start(struct nb_pcomm *pc, struct nb_op_slot *s, const struct nb_decided_task *task)
{
	uint64_t mark = mark_next(pc);
	struct nb_decided_kept *kept = &pc->kept[s - pc->coll];
	struct nb_decided found;

	SET(s->decided, mark);
	if (!nb_hooks_on(NB_HOOK_COLL_DONE) && !nb_trace_ring_wanted())
		return;
	decided_search(pc, mark, task, &found);
	SET(kept->n, found.n);
	SET(s->decided, mark | UINT64_C(1) << AT_FOUND);
	if (!found.n)
		return;
	for (int w = 0; w < NB_PACKED_WORDS; w++)
		SET(kept->packed.word[w], found.packed.word[w]);
	SET(kept->chunk, nb_packed_tag(found.n - 1) | found.d.chunk_size);
}

void nb_decided_of(const struct nb_pcomm *pc, const struct nb_op_slot *s,
		   const struct nb_decided_task *task, struct nb_decided *out)
{
	const struct nb_decided_kept *kept = &pc->kept[s - pc->coll];
	uint64_t mark = GET(s->decided), chunk;

	if (!(mark >> AT_FOUND)) {
		decided_search(pc, mark, task, out);
		return;
	}
	out->n = GET(kept->n);
	chunk = GET(kept->chunk);
	for (int w = 0; w < NB_PACKED_WORDS; w++)
		out->packed.word[w] = GET(kept->packed.word[w]);
	if (out->n && !nb_unpack(&out->packed, &chunk, out->n - 1, &out->d))
		out->n = 0;
}
