// SPDX-License-Identifier: MIT
/*
 * Compare the ranks of a communicator. The ranks are at different
 * decisions. So the hash of the rank that is ahead is rolled back, decision
 * by decision from its ring, to the other's position. If the hashes differ
 * there, the rings are searched for the first decision that differs.
 */
#include "core/job/segment/agree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/job/segment/bycalls.h"

static const char *const agree_words[] = {
	[NB_AGREED] = "agreed",
	[NB_DIVERGED] = "diverged",
	[NB_DIVERGED_BEFORE] = "diverged_before",
	[NB_MISMATCHED] = "mismatched",
	[NB_TUNER_CALLS_DIFFER] = "tuner_calls_differ",
	[NB_API_CALLS_DIFFER] = "api_calls_differ",
	[NB_COUNTS_DIFFER] = "counts_differ",
	[NB_STATE_DIFFERS] = "state_differs",
	[NB_TOO_FAR] = "too_far_apart",
	[NB_ALONE] = "alone",
};

const char *nb_agreement_word(enum nb_agreement a)
{
	return agree_words[a];
}

static int agree_read_all(int fd, char *to, size_t size)
{
	size_t at = 0;

	memset(to, 0, size);
	while (at < size) {
		ssize_t n = pread(fd, to + at, size - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			/*
			 * The text became shorter; the rest of the buffer is
			 * zeroes.
			 */
			break;
		at += (size_t)n;
	}
	return 0;
}

static int agree_check_header(const struct nb_job *job, const char *path, struct nb_err *err)
{
	const struct nb_seg *seg = job->seg;

	if (seg->magic != NB_SEG_MAGIC)
		return nb_fail(err, NB_E_IMAGE, 0, "%.200s: no job segment", path);
	if (seg->version != NB_SEG_VERSION || seg->size != sizeof(*seg))
		return nb_fail(
			err, NB_E_VERSION, 0,
			"%.200s: a job segment of version %u (this ncclbpf reads version %d)", path,
			seg->version, NB_SEG_VERSION);
	return 0;
}

int nb_job_read(struct nb_job *out, const char *path, struct nb_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = 0;
	struct stat st = { 0 };

	*out = (struct nb_job){ 0 };
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		rc = nb_fail(err, NB_E_NOINPUT, 0, "%.200s: %s", path,
			     fd < 0 ? strerror(errno) : "not a file");
	} else if ((uint64_t)st.st_size < sizeof(struct nb_seg) ||
		   (uint64_t)st.st_size > NB_SEG_SPAN) {
		rc = nb_fail(err, NB_E_IMAGE, 0,
			     "%.200s: %lld bytes are no job segment (allowed: %zu to %llu)", path,
			     (long long)st.st_size, sizeof(struct nb_seg),
			     (unsigned long long)NB_SEG_SPAN);
	} else {
		out->size = (size_t)st.st_size;
		out->memory = aligned_alloc(NB_SEG_PAGE, (out->size + NB_SEG_PAGE - 1) /
								 NB_SEG_PAGE * NB_SEG_PAGE);
		out->seg = out->memory;
		if (!out->memory)
			rc = nb_fail(err, NB_E_NOMEM, 0, "no memory for %.200s (%zu bytes)", path,
				     out->size);
		else if (agree_read_all(fd, out->memory, out->size))
			rc = nb_fail(err, NB_E_NOINPUT, 0, "%.200s: %s", path, strerror(errno));
		else
			rc = agree_check_header(out, path, err);
	}
	if (fd >= 0)
		close(fd);
	if (rc)
		nb_job_free(out);
	return rc;
}

void nb_job_free(struct nb_job *job)
{
	free(job->memory);
	*job = (struct nb_job){ 0 };
}

const struct nb_seg_comm *nb_job_comm(const struct nb_job *job, uint32_t index)
{
	const struct nb_seg_comm *c;

	if (index >= nb_seg_ncomms(job->seg))
		return NULL;
	c = &job->seg->comm[index];
	return __atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) ? c : NULL;
}

const struct nb_packed *nb_job_ring(const struct nb_job *job, const struct nb_seg_slot *slot)
{
	uint32_t ring = slot->ring - 1;
	uint64_t at = NB_SEG_RINGS_AT + ring * NB_SEG_RING_SIZE;

	if (ring >= NB_SEG_RINGS || at + NB_SEG_RING_SIZE > job->size)
		return NULL;
	return (const void *)((const char *)job->seg + at);
}

/* Compute the number of decisions in @hash, from its 16-bit tag and the
 * announcement. */
static uint64_t decisions_in(uint64_t hash, uint64_t announced)
{
	uint64_t behind = (announced - (hash >> 48)) & 0xffff;

	return behind <= announced ? announced - behind : 0;
}

/* Return the number of decisions that the rank has begun. If API calls are
 * the clock, @announced counts calls, and @decisions counts decisions. */
static uint64_t begun(const struct nb_seg_slot *slot)
{
	uint64_t n = __atomic_load_n(&slot->decisions, __ATOMIC_ACQUIRE);

	if (n)
		return n;
	n = __atomic_load_n(&slot->announced, __ATOMIC_ACQUIRE);
	/* a rank whose second decision has begun has a hash; these are calls */
	return n > 1 && !__atomic_load_n(&slot->hash, __ATOMIC_ACQUIRE) ? 0 : n;
}

uint64_t nb_job_decisions(const struct nb_seg_slot *slot)
{
	uint64_t hash = __atomic_load_n(&slot->hash, __ATOMIC_ACQUIRE);

	return decisions_in(hash, begun(slot));
}

bool nb_job_undecided(const struct nb_seg_slot *slot, uint64_t *seq)
{
	uint64_t n = begun(slot);
	uint64_t hash = __atomic_load_n(&slot->hash, __ATOMIC_ACQUIRE);

	*seq = n - 1;
	return n && decisions_in(hash, n) != n;
}

void nb_job_policies(const struct nb_job *job, uint32_t generation, char *text, size_t size)
{
	const struct nb_seg_gen *g = &job->seg->gen[generation % NB_SEG_GENS];
	size_t n = 0;

	if (generation && __atomic_load_n(&g->number, __ATOMIC_ACQUIRE) == generation)
		for (; n + 1 < size && n < sizeof(g->names) && g->names[n]; n++)
			text[n] = g->names[n] < ' ' ? '?' : g->names[n];
	text[n] = '\0';
}

/* Roll the hash of @r back to its first @n decisions; returns false if the
 * ring no longer has all of them. */
static bool hash_at(const struct nb_track *r, uint64_t n, uint64_t *hash)
{
	struct nb_agreed w;

	*hash = r->hash & NB_HASH_MASK;
	if (r->decisions - n > NB_RING)
		return false;
	for (uint64_t k = r->decisions; k > n; k--) {
		if (!nb_track_read(r, k - 1, &w))
			return false;
		*hash = nb_hash_back(*hash, w.bytes, w.rest, w.chunk_size);
	}
	return true;
}

/* Do both rings have the decisions, and do these decisions differ? */
static bool decisions_differ(const struct nb_track *a, uint64_t i, const struct nb_track *b,
			     uint64_t k)
{
	struct nb_agreed x, y;

	return nb_track_read(a, i, &x) && nb_track_read(b, k, &y) && !nb_same_agreed(&x, &y);
}

/* Return the first decision in [from, to) that @a and @b made differently;
 * @to if both rings have no such decision. */
static uint64_t first_difference(const struct nb_track *a, const struct nb_track *b, uint64_t from,
				 uint64_t to)
{
	while (from < to && !decisions_differ(a, from, b, from))
		from++;
	return from;
}

/* Did both ranks make the same decisions before @k? */
static bool same_before(const struct nb_track *a, const struct nb_track *b, uint64_t k)
{
	uint64_t x, y;

	return hash_at(a, k, &x) && hash_at(b, k, &y) && x == y;
}

static uint64_t oldest_kept(const struct nb_track *r)
{
	return r->decisions > NB_RING ? r->decisions - NB_RING : 0;
}

/* Does @a continue from decision @k + @by in the same way as @b from @k? */
static bool shifted(const struct nb_track *a, const struct nb_track *b, uint64_t k, uint32_t by)
{
	uint64_t i = k;

	for (; i < k + 16 && i + by < a->decisions && i < b->decisions; i++) {
		struct nb_agreed x, y;

		if (!nb_track_read(a, i + by, &x) || !nb_track_read(b, i, &y) ||
		    !nb_same_agreed(&x, &y))
			return false;
	}
	return i - k >= 2;
}

struct comparison {
	struct nb_track *ring;
	struct nb_agree *out;
};

/*
 * Read the position of a rank. Hash and announcement are two words that may
 * not belong together: the hash's own tag tells how many decisions it
 * includes.
 */
static void read_rank(struct comparison *c, const struct nb_job *job,
		      const struct nb_seg_comm *comm, uint32_t i)
{
	const struct nb_seg_slot *slot = &comm->slot[i];
	struct nb_agree_rank *r = &c->out->rank[c->out->n];
	struct nb_track *ring = &c->ring[c->out->n];
	uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);

	if (state == NB_SLOT_FREE)
		return;
	*r = (struct nb_agree_rank){
		.slot = i,
		.pid = slot->pid,
		.rank = slot->rank,
		.live = state == NB_SLOT_LIVE,
		.generation = __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE),
		.waits = __atomic_load_n(&slot->waiting, __ATOMIC_ACQUIRE) != 0,
	};
	ring->ring = nb_job_ring(job, slot);
	ring->clock = ring->ring ? nb_seg_clocks(ring->ring) : NULL;
	ring->chunk = ring->ring ? nb_seg_chunks(ring->ring) : NULL;
	ring->hash = __atomic_load_n(&slot->hash, __ATOMIC_ACQUIRE);
	ring->decisions = decisions_in(ring->hash, begun(slot));
	r->calls = __atomic_load_n(&slot->calls, __ATOMIC_ACQUIRE);
	r->calls -= r->calls != 0;
	r->decisions = ring->decisions;
	r->hash = ring->hash & NB_HASH_MASK;
	c->out->n++;
}

/* Return the index of the rank that is furthest ahead among those with a
 * ring. */
static uint32_t find_furthest(const struct comparison *c)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < c->out->n; i++)
		if (c->ring[i].ring &&
		    (!c->ring[best].ring || c->ring[i].decisions > c->ring[best].decisions))
			best = i;
	return best;
}

static bool read_decision(const struct nb_track *t, uint64_t k, struct nb_decision *out)
{
	return nb_unpack(&t->ring[k % NB_RING], &t->chunk[k % NB_RING], k, out);
}

/* Report decision @seq of rank @i. */
static void report_decision(struct comparison *c, uint32_t i, uint64_t seq, bool differs)
{
	struct nb_agree_rank *r = &c->out->rank[i];

	r->has = read_decision(&c->ring[i], seq, &r->decision);
	r->differs = differs;
}

/* Note that two ranks were offered different combinations, in their decisions
 * @k and @l. */
static void note_offers(struct comparison *c, uint32_t i, uint64_t k, uint32_t j, uint64_t l)
{
	struct nb_agree *out = c->out;

	if (out->offers)
		return;
	out->offers = read_decision(&c->ring[i], k, &out->offer[0]) &&
		      read_decision(&c->ring[j], l, &out->offer[1]);
	out->offer_rank[0] = i;
	out->offer_rank[1] = j;
}

/* Compare what ranks @i and @j, which made the same decisions, were offered. */
static void compare_offers(struct comparison *c, uint32_t i, uint32_t j)
{
	const struct nb_track *a = &c->ring[i], *b = &c->ring[j];
	uint64_t k = oldest_kept(a) > oldest_kept(b) ? oldest_kept(a) : oldest_kept(b);
	struct nb_agreed x, y;

	for (; !c->out->offers && k < a->decisions && k < b->decisions; k++)
		if (nb_track_read(a, k, &x) && nb_track_read(b, k, &y) && !nb_same_offer(&x, &y))
			note_offers(c, i, k, j, k);
}

/* True if both ranks made the last decision that both have after the same
 * number of calls. */
static bool same_clocks(const struct nb_track *a, const struct nb_track *b)
{
	struct nb_track then = *a;

	if (b->decisions < then.decisions)
		then.decisions = b->decisions;
	if (a->decisions - then.decisions >= NB_RING)
		return true;
	return nb_track_calls(&then) == nb_track_calls(b);
}

/*
 * Compare rank @i with rank @ahead if the clock counts calls of NCCL's API:
 * their numbers of decisions may differ. @alike: decisions with the same
 * number do not differ.
 */
static void compare_calls(struct comparison *c, uint32_t ahead, uint32_t i, bool alike)
{
	const struct nb_track *a = &c->ring[ahead], *b = &c->ring[i];
	struct nb_agree *out = c->out;
	struct nb_bycalls by;

	if (alike && same_clocks(a, b)) {
		compare_offers(c, ahead, i);
		return;
	}
	nb_bycalls(a, b, &by);
	if (by.offers)
		note_offers(c, ahead, by.offer_seq[0], i, by.offer_seq[1]);
	if (by.differ && out->verdict != NB_DIVERGED) {
		out->verdict = alike ? NB_API_CALLS_DIFFER : NB_DIVERGED;
		out->seq = by.seq[0];
		out->aligned = !alike && !by.questions;
		report_decision(c, ahead, by.seq[0], false);
		report_decision(c, i, by.seq[1], true);
	} else if (!by.compared) {
		if (out->verdict == NB_AGREED)
			out->verdict = NB_TOO_FAR;
	} else if (!by.differ &&
		   (out->verdict == NB_AGREED || out->verdict == NB_TUNER_CALLS_DIFFER)) {
		out->verdict = NB_TUNER_CALLS_DIFFER;
		if (!out->extra && (by.extra[0] || by.extra[1])) {
			bool first = by.extra[0] >= by.extra[1];

			out->extra = by.extra[!first];
			out->extra_slot = out->rank[first ? ahead : i].slot;
			out->extra_site = out->rank[first ? ahead : i].site;
			out->seq = by.extra_seq;
		}
	}
}

/*
 * True if NCCL asked both ranks the same as question number @k, with the same
 * offer, and got different answers.
 */
static bool answers_differ(const struct nb_track *a, const struct nb_track *b, uint64_t k)
{
	struct nb_decision x, y;

	return read_decision(a, k, &x) && read_decision(b, k, &y) && x.coll == y.coll &&
	       x.bytes == y.bytes && x.usable == y.usable && x.pipe_ops == y.pipe_ops &&
	       x.nccl_algo == y.nccl_algo && x.nccl_proto == y.nccl_proto;
}

/*
 * Note the first difference, decision @k; @to: none in the rings. Without a
 * clock, another question shows only that the ranks count differently.
 */
static void note_difference(struct comparison *c, uint32_t ahead, uint32_t i, uint64_t k,
			    uint64_t to)
{
	const struct nb_track *a = &c->ring[ahead], *b = &c->ring[i];
	struct nb_agree *out = c->out;

	if (out->clock == NB_CLOCK_NONE && !(k < to && answers_differ(a, b, k))) {
		if (out->verdict != NB_DIVERGED)
			out->verdict = NB_COUNTS_DIFFER, out->seq = k;
		return;
	}
	if (k < to) {
		if (out->verdict != NB_DIVERGED || k < out->seq)
			out->seq = k;
		out->verdict = NB_DIVERGED;
		out->earlier = out->earlier || !same_before(a, b, k);
	} else if (out->verdict != NB_DIVERGED) {
		out->verdict = NB_DIVERGED_BEFORE;
		out->seq = oldest_kept(a) > oldest_kept(b) ? oldest_kept(a) : oldest_kept(b);
	}
}

/* Compare rank @i with rank @ahead. */
static void compare_rank(struct comparison *c, uint32_t ahead, uint32_t i)
{
	const struct nb_track *a = &c->ring[ahead], *b = &c->ring[i];
	struct nb_agree *out = c->out;
	uint64_t hash, from;

	if (i == ahead || !b->decisions)
		return;
	if (!b->ring) {
		if (out->rank[i].agrees && b->decisions < out->to)
			out->to = b->decisions;
		return;
	}
	if (out->clock == NB_CLOCK_CALLS) {
		bool alike = b->decisions <= a->decisions && hash_at(a, b->decisions, &hash) &&
			     hash == (b->hash & NB_HASH_MASK);

		if (b->decisions < out->to)
			out->to = b->decisions;
		compare_calls(c, ahead, i, alike);
		return;
	}
	if (!hash_at(a, b->decisions, &hash)) {
		if (out->verdict == NB_AGREED)
			out->verdict = out->clock == NB_CLOCK_NONE ? NB_COUNTS_DIFFER : NB_TOO_FAR;
		return;
	}
	if (b->decisions < out->to)
		out->to = b->decisions;
	if (hash == (b->hash & NB_HASH_MASK)) {
		if (out->clock == NB_CLOCK_DECISIONS)
			compare_offers(c, ahead, i);
		return;
	}
	from = oldest_kept(a) > oldest_kept(b) ? oldest_kept(a) : oldest_kept(b);
	note_difference(c, ahead, i, first_difference(a, b, from, b->decisions), b->decisions);
}

static bool same_decision(const struct nb_decision *a, const struct nb_decision *b)
{
	return a->coll == b->coll && a->bytes == b->bytes && a->algo == b->algo &&
	       a->proto == b->proto && a->channels == b->channels;
}

/* Copy a decision to a rank without a ring, from the rank of its site that
 * has a ring: both decided the same. */
static void copy_decision(struct comparison *c, uint32_t i)
{
	struct nb_agree *out = c->out;

	for (uint32_t j = 0; j < out->n; j++) {
		if (!c->ring[j].ring || !out->rank[j].has || out->rank[j].site != out->rank[i].site)
			continue;
		out->rank[i].has = true;
		out->rank[i].decision = out->rank[j].decision;
		return;
	}
}

/* Report each rank's decision, and mark those that differ from the most
 * common one. */
static void mark_minority(struct comparison *c)
{
	struct nb_agree *out = c->out;
	uint32_t most = 0, best = 0;

	for (uint32_t i = 0; i < out->n; i++)
		if (c->ring[i].ring && out->seq < c->ring[i].decisions)
			report_decision(c, i, out->seq, false);
	for (uint32_t i = 0; i < out->n; i++)
		if (out->rank[i].agrees && !c->ring[i].ring && out->seq < c->ring[i].decisions)
			copy_decision(c, i);
	for (uint32_t i = 0; i < out->n; i++) {
		uint32_t like = 0;

		for (uint32_t j = 0; j < out->n; j++)
			like += out->rank[i].has && out->rank[j].has &&
				same_decision(&out->rank[i].decision, &out->rank[j].decision);
		if (like > most)
			most = like, best = i;
	}
	for (uint32_t i = 0; i < out->n; i++)
		out->rank[i].differs =
			out->rank[i].has &&
			!same_decision(&out->rank[i].decision, &out->rank[best].decision);
}

/*
 * From the first decision that differs on, find a rank that made extra
 * decisions.
 */
static void find_extra(struct comparison *c)
{
	struct nb_agree *out = c->out;

	for (uint32_t i = 0; i < out->n; i++)
		for (uint32_t j = 0; j < out->n; j++)
			for (uint32_t by = 1; by <= 16; by++) {
				if (!c->ring[i].ring || !c->ring[j].ring || !out->rank[i].has ||
				    !out->rank[j].has ||
				    out->rank[i].differs == out->rank[j].differs ||
				    !shifted(&c->ring[i], &c->ring[j], out->seq, by))
					continue;
				out->extra = by;
				out->extra_slot = out->rank[i].slot;
				out->extra_site = out->rank[i].site;
				return;
			}
}

/* Was the tuner asked the same questions on both ranks from decision @k on, as
 * far as the rings reach? */
static bool same_questions(const struct nb_track *a, const struct nb_track *b, uint64_t k)
{
	for (; k < a->decisions && k < b->decisions; k++) {
		struct nb_agreed x, y;

		if (nb_track_read(a, k, &x) && nb_track_read(b, k, &y) && !nb_same_question(&x, &y))
			return false;
	}
	return true;
}

static bool questions_alike(const struct comparison *c, uint32_t ahead)
{
	for (uint32_t i = 0; i < c->out->n; i++)
		if (c->ring[i].ring && !same_questions(&c->ring[ahead], &c->ring[i], c->out->seq))
			return false;
	return !c->out->extra && !c->out->earlier;
}

/* Did the ranks that decided differently have the same question with different
 * offers? */
static void find_offers(struct comparison *c)
{
	struct nb_agree *out = c->out;
	uint32_t i = 0;

	while (i < out->n && (!out->rank[i].has || !c->ring[i].ring))
		i++;
	for (uint32_t j = i + 1; j < out->n; j++) {
		const struct nb_decision *x = &out->rank[i].decision, *y = &out->rank[j].decision;

		if (c->ring[j].ring && out->rank[j].has && x->coll == y->coll &&
		    x->bytes == y->bytes && x->usable && y->usable && x->usable != y->usable)
			note_offers(c, i, x->seq, j, y->seq);
	}
}

/* Read a hash of replicated maps; returns false if there is none, or if the rank
 * is writing it. */
static bool read_state(const struct nb_packed *ring, uint32_t i, struct nb_seg_state *out)
{
	const struct nb_seg_state *s = &nb_seg_states(ring)[i];

	out->call = __atomic_load_n(&s->call, __ATOMIC_ACQUIRE);
	out->hash = __atomic_load_n(&s->hash, __ATOMIC_ACQUIRE);
	return out->call && out->call == __atomic_load_n(&s->call, __ATOMIC_ACQUIRE);
}

/* Compare the replicated maps of ranks that decided alike, after calls that the
 * same elements of both describe. */
static void compare_states(const struct nb_packed *a, const struct nb_packed *b,
			   struct nb_agree *out)
{
	struct nb_seg_state x, y;

	for (uint32_t i = 0; i < NB_STATES; i++) {
		if (!read_state(a, i, &x) || !read_state(b, i, &y) || x.call != y.call ||
		    x.hash == y.hash)
			continue;
		if (out->verdict != NB_STATE_DIFFERS || x.call < out->seq)
			out->seq = x.call;
		out->verdict = NB_STATE_DIFFERS;
		out->aligned = true;
	}
}

void nb_agree_tracks(struct nb_agree *a, struct nb_track *track)
{
	struct comparison c = { track, a };
	uint32_t ahead, with = 0;

	a->least = UINT64_MAX;
	for (uint32_t i = 0; i < a->n; i++) {
		with += track[i].decisions && (track[i].ring || a->rank[i].agrees);
		if (track[i].decisions < a->least)
			a->least = track[i].decisions;
		if (track[i].decisions > a->most)
			a->most = track[i].decisions;
	}
	a->verdict = with == 1 && !a->least ? NB_COUNTS_DIFFER : NB_ALONE;
	if (with < 2)
		return;
	ahead = find_furthest(&c);
	if (!track[ahead].ring)
		return;
	a->verdict = NB_AGREED;
	a->to = track[ahead].decisions;
	for (uint32_t i = 0; i < a->n; i++)
		compare_rank(&c, ahead, i);
	if (a->verdict == NB_DIVERGED && a->clock != NB_CLOCK_CALLS) {
		mark_minority(&c);
		find_extra(&c);
		a->aligned = questions_alike(&c, ahead);
	}
	for (uint32_t i = 0; i < a->n; i++)
		if (track[i].ring && (!nb_agree_broken(a) || a->verdict == NB_STATE_DIFFERS))
			compare_states(track[ahead].ring, track[i].ring, a);
	if (nb_agree_broken(a)) {
		/* only what differs in the reported decision explains it */
		a->offers = false;
		find_offers(&c);
	}
}

bool nb_agree(const struct nb_job *job, uint32_t index, struct nb_agree *out)
{
	const struct nb_seg_comm *comm = nb_job_comm(job, index);
	struct nb_track track[NB_SEG_SLOTS] = { { 0 } };
	struct comparison c = { track, out };

	memset(out, 0, sizeof(*out));
	out->rank = out->own;
	if (!comm || !comm->has_id)
		return false;
	out->comm_id = comm->comm_id;
	out->ranks = comm->nranks;
	out->clock = nb_seg_clock(comm);
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		read_rank(&c, job, comm, i);
	out->here = out->n;
	nb_agree_tracks(out, track);
	if (out->verdict == NB_AGREED && __atomic_load_n(&comm->mismatch, __ATOMIC_ACQUIRE))
		out->verdict = NB_MISMATCHED;
	return true;
}

bool nb_agree_at_rest(const struct nb_job *job, uint32_t index, struct nb_agree *out)
{
	enum { TRIES = 5 };

	for (int i = 0; i < TRIES; i++) {
		if (!nb_agree(job, index, out))
			return false;
		if (out->verdict != NB_TOO_FAR)
			break;
	}
	return true;
}
