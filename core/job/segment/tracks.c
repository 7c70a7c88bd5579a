// SPDX-License-Identifier: MIT
/*
 * Compare ranks of several sites by the records in their segments. A
 * process of each site writes these bytes, or they come from its segment
 * file; the shell reads them. The bytes come from other hosts, so each
 * count and size is checked.
 */
#include "core/job/segment/tracks.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/view.h"
#include "core/job/segment/bycalls.h"
#include "core/job/segment/report.h"

#define TRACKS_MAGIC UINT64_C(0x316b727466706263) /* The bytes "cbpftrk1" */

enum { VERSION = 4, NAMES = 128 };

/*
 * The layout of the bytes: a header; then for each communicator its ranks,
 * each followed by its ring if it has one. All parts are multiples of 8
 * bytes.
 */
struct head {
	uint64_t magic;
	uint32_t version, ncomms, left_out, pad;
};

struct comm {
	uint64_t id;
	uint32_t nranks, n, clock, mismatch;
};

enum { LIVE = 1, WAITS = 2, RING = 4, AGREES = 8 };

struct rank {
	uint64_t decisions, hash, calls;
	uint32_t slot, pid, generation, flags;
	int32_t rank;
	uint32_t pad;
	char policies[NAMES]; /* The names end with a NUL. */
};

static void put_ring(struct nb_buf *out, const struct nb_packed *ring)
{
	const uint32_t *clock = nb_seg_clocks(ring);
	const uint64_t *chunk = nb_seg_chunks(ring);
	uint64_t word[NB_PACKED_WORDS];
	uint32_t calls[2];

	for (int i = 0; i < NB_RING; i++) {
		for (int k = 0; k < NB_PACKED_WORDS; k++)
			word[k] = __atomic_load_n(&ring[i].word[k], __ATOMIC_RELAXED);
		nb_buf_bytes(out, word, sizeof(word));
	}
	for (int i = 0; i < NB_RING; i += 2) {
		calls[0] = __atomic_load_n(&clock[i], __ATOMIC_RELAXED);
		calls[1] = __atomic_load_n(&clock[i + 1], __ATOMIC_RELAXED);
		nb_buf_bytes(out, calls, sizeof(calls));
	}
	for (int i = 0; i < NB_RING; i++) {
		word[0] = __atomic_load_n(&chunk[i], __ATOMIC_RELAXED);
		nb_buf_bytes(out, &word[0], sizeof(word[0]));
	}
	for (int i = 0; i < NB_STATES; i++) {
		const struct nb_seg_state *from = &nb_seg_states(ring)[i];
		struct nb_seg_state to = { __atomic_load_n(&from->call, __ATOMIC_ACQUIRE),
					   __atomic_load_n(&from->hash, __ATOMIC_ACQUIRE) };

		if (to.call != __atomic_load_n(&from->call, __ATOMIC_ACQUIRE))
			to.call = 0;
		nb_buf_bytes(out, &to, sizeof(to));
	}
}

static void tracks_put_rank(struct nb_buf *out, const struct nb_job *job,
			    const struct nb_agree_rank *r, const struct nb_packed *ring,
			    bool agrees)
{
	struct rank to = { .decisions = r->decisions,
			   .hash = r->hash,
			   .calls = r->calls,
			   .slot = r->slot,
			   .pid = r->pid,
			   .generation = r->generation,
			   .rank = r->rank };

	to.flags = (r->live ? LIVE : 0) | (r->waits ? WAITS : 0) | (ring ? RING : 0) |
		   (agrees ? AGREES : 0);
	nb_job_policies(job, r->generation, to.policies, sizeof(to.policies));
	nb_buf_bytes(out, &to, sizeof(to));
	if (ring)
		put_ring(out, ring);
}

static const struct nb_packed *tracks_ring_of(const struct nb_job *job, const struct nb_seg_comm *c,
					      const struct nb_agree_rank *r)
{
	return r->decisions ? nb_job_ring(job, &c->slot[r->slot]) : NULL;
}

static uint32_t furthest(const struct nb_job *job, const struct nb_seg_comm *c,
			 const struct nb_agree *a)
{
	uint32_t best = a->n;

	for (uint32_t i = 0; i < a->n; i++)
		if (tracks_ring_of(job, c, &a->rank[i]) &&
		    (best == a->n || a->rank[i].decisions > a->rank[best].decisions))
			best = i;
	return best;
}

static void tracks_put_comm(struct nb_buf *out, const struct nb_job *job,
			    const struct nb_seg_comm *c, const struct nb_agree *a)
{
	bool alike = (a->verdict == NB_AGREED || a->verdict == NB_MISMATCHED) && !a->offers;
	uint32_t best = furthest(job, c, a);
	struct comm to = {
		.id = a->comm_id,
		.nranks = a->ranks,
		.n = a->n,
		.clock = a->clock,
		.mismatch = __atomic_load_n(&c->mismatch, __ATOMIC_ACQUIRE),
	};

	nb_buf_bytes(out, &to, sizeof(to));
	for (uint32_t i = 0; i < a->n; i++)
		tracks_put_rank(out, job, &a->rank[i],
				alike && i != best ? NULL : tracks_ring_of(job, c, &a->rank[i]),
				alike && i != best);
}

bool nb_tracks_write(const struct nb_job *job, bool one, uint64_t only, size_t room,
		     struct nb_buf *out)
{
	struct nb_agree *a = calloc(1, sizeof(*a));
	struct head head = { .magic = TRACKS_MAGIC, .version = VERSION };
	size_t start = out->size;

	nb_buf_bytes(out, &head, sizeof(head));
	for (uint32_t i = 0; a && i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = nb_job_comm(job, i);
		size_t before = out->size;

		if (!c || (one && c->comm_id != only) || !nb_agree_at_rest(job, i, a) ||
		    a->ranks <= a->here)
			continue;
		tracks_put_comm(out, job, c, a);
		if (nb_buf_ok(out) && out->size - start > room) {
			out->size = before;
			head.left_out++;
		} else {
			head.ncomms++;
		}
	}
	if (nb_buf_ok(out))
		memcpy(out->data + start, &head, sizeof(head));
	free(a);
	return a && nb_buf_ok(out);
}

/* A rank found in the bytes of site @site. */
struct found {
	uint64_t comm;
	struct comm head;
	struct rank rank;
	/* The ring, unaligned; NULL if there is none. */
	const unsigned char *ring;
	uint32_t site;
};

struct reader {
	struct found *at;
	size_t n, room;
	uint64_t left_out;
};

static struct found *add_found(struct reader *r)
{
	if (r->n == r->room) {
		size_t room = r->room ? r->room * 2 : 64;
		struct found *p = realloc(r->at, room * sizeof(*p));

		if (!p)
			return NULL;
		r->at = p;
		r->room = room;
	}
	return &r->at[r->n++];
}

static int bad_tracks(const struct nb_tracks *t, struct nb_err *err)
{
	return nb_fail(err, NB_E_FORMAT, 0, "site %.80s: %zu bytes are no tracks of a job", t->site,
		       t->size);
}

static int tracks_read_comm(struct reader *r, const struct nb_tracks *t, uint32_t site,
			    uint64_t *at, struct nb_err *err)
{
	struct nb_view v = nb_view(t->bytes, t->size);
	struct comm c;

	if (!nb_view_get(v, *at, &c, sizeof(c)) || c.n > NB_SEG_SLOTS)
		return bad_tracks(t, err);
	*at += sizeof(c);
	for (uint32_t i = 0; i < c.n; i++) {
		struct found *f = add_found(r);

		if (!f)
			return nb_fail(err, NB_E_NOMEM, 0, "no memory for %zu ranks", r->n + 1);
		*f = (struct found){ .comm = c.id, .head = c, .site = site };
		if (!nb_view_get(v, *at, &f->rank, sizeof(f->rank)) || f->rank.policies[NAMES - 1])
			return bad_tracks(t, err);
		*at += sizeof(f->rank);
		if (!(f->rank.flags & RING))
			continue;
		f->ring = nb_view_sub(v, *at, NB_SEG_RING_SIZE).p;
		if (!f->ring)
			return bad_tracks(t, err);
		*at += NB_SEG_RING_SIZE;
	}
	return 0;
}

static int read_site(struct reader *r, const struct nb_tracks *t, uint32_t site, struct nb_err *err)
{
	struct head h;
	uint64_t at = sizeof(h);
	int rc = 0;

	if (!nb_view_get(nb_view(t->bytes, t->size), 0, &h, sizeof(h)) || h.magic != TRACKS_MAGIC ||
	    h.ncomms > NB_SEG_COMMS)
		return bad_tracks(t, err);
	if (h.version != VERSION)
		return nb_fail(err, NB_E_VERSION, 0,
			       "site %.80s: tracks of version %u (this ncclbpf reads version %d)",
			       t->site, h.version, VERSION);
	r->left_out += h.left_out;
	for (uint32_t i = 0; !rc && i < h.ncomms; i++)
		rc = tracks_read_comm(r, t, site, &at, err);
	return rc;
}

static int by_comm(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->rank.slot > y->rank.slot) - (x->rank.slot < y->rank.slot);
}

/* The ranks of one communicator, ready to be compared. */
struct group {
	struct nb_agree agree;
	struct nb_agree_rank *rank;
	struct nb_track *track;
	const char **policies;
	struct nb_packed *rings; /* Aligned copies of the rings. */
};

static void group_free(struct group *g)
{
	if (!g)
		return;
	free(g->rank);
	free(g->track);
	free(g->policies);
	free(g->rings);
	free(g);
}

/* Allocate a group; returns NULL if out of memory. */
static struct group *group_new(const struct found *f, size_t n)
{
	struct group *g = calloc(1, sizeof(*g));
	size_t rings = 0;

	if (!g)
		return NULL;
	for (size_t i = 0; i < n; i++)
		rings += f[i].ring != NULL;
	g->rank = calloc(n, sizeof(*g->rank));
	g->track = calloc(n, sizeof(*g->track));
	g->policies = calloc(n, sizeof(*g->policies));
	g->rings = malloc(rings ? rings * NB_SEG_RING_SIZE : 1);
	if (g->rank && g->track && g->policies && g->rings)
		return g;
	group_free(g);
	return NULL;
}

static void fill_rank(struct group *g, size_t i, const struct found *f, char **ring)
{
	const struct rank *r = &f->rank;

	g->rank[i] = (struct nb_agree_rank){
		.slot = r->slot,
		.pid = r->pid,
		.live = r->flags & LIVE,
		.generation = r->generation,
		.decisions = r->decisions,
		.hash = r->hash,
		.calls = r->calls,
		.waits = r->flags & WAITS,
		.rank = r->rank,
		.site = f->site,
		.agrees = r->flags & AGREES,
	};
	g->policies[i] = r->policies;
	g->track[i].decisions = r->decisions;
	g->track[i].hash = r->hash;
	if (!f->ring)
		return;
	memcpy(*ring, f->ring, NB_SEG_RING_SIZE);
	g->track[i].ring = (void *)*ring;
	g->track[i].clock = nb_seg_clocks(g->track[i].ring);
	g->track[i].chunk = nb_seg_chunks(g->track[i].ring);
	*ring += NB_SEG_RING_SIZE;
}

/* Compare ranks; @f holds those of one communicator, of all sites. */
static void compare_group(struct group *g, const struct found *f, size_t n)
{
	struct nb_agree *a = &g->agree;
	char *ring = (char *)g->rings;
	bool mismatch = false;

	a->comm_id = f->comm;
	a->ranks = f->head.nranks;
	a->clock = NB_CLOCK_CALLS;
	a->n = a->here = (uint32_t)n;
	a->rank = g->rank;
	for (size_t i = 0; i < n; i++) {
		fill_rank(g, i, &f[i], &ring);
		mismatch = mismatch || f[i].head.mismatch;
		if (f[i].head.clock > NB_CLOCK_CALLS)
			a->clock = NB_CLOCK_NONE;
		else if (f[i].head.clock == NB_CLOCK_DECISIONS && a->clock == NB_CLOCK_CALLS)
			a->clock = NB_CLOCK_DECISIONS;
	}
	nb_agree_tracks(a, g->track);
	if (a->verdict == NB_AGREED && mismatch)
		a->verdict = NB_MISMATCHED;
}

/* Compare and write the @n ranks at @f, which belong to one communicator. */
static int put_group(const struct found *f, size_t n, const char *const *names, bool one, bool fits,
		     bool *agree, struct nb_json *out)
{
	struct group *g = group_new(f, n);
	struct nb_report_sites sites = { .name = names };
	bool fine;

	if (!g)
		return NB_E_NOMEM;
	compare_group(g, f, n);
	sites.policies = g->policies;
	fine = nb_agreement_fine(g->agree.verdict);
	*agree = *agree && fine;
	if (fits)
		nb_agree_json(&g->agree, &sites, one || !fine || g->agree.extra, out);
	group_free(g);
	return 0;
}

static int put_groups(const struct reader *r, const char *const *names, bool one, uint64_t only,
		      size_t room, struct nb_json *out, struct nb_err *err)
{
	uint64_t left = r->left_out;
	bool agree = true;
	size_t end;
	int rc = 0;

	nb_json_karr(out, "comms");
	for (size_t i = 0; !rc && i < r->n; i = end) {
		bool fits = out->out->size <= room;

		for (end = i; end < r->n && r->at[end].comm == r->at[i].comm;)
			end++;
		if (one && r->at[i].comm != only)
			continue;
		left += !fits;
		if (put_group(&r->at[i], end - i, names, one, fits, &agree, out))
			rc = nb_fail(err, NB_E_NOMEM, 0,
				     "no memory to compare %zu ranks of a communicator", end - i);
	}
	nb_json_end_arr(out);
	nb_json_kbool(out, "agree", agree);
	nb_json_ku64(out, "left_out", left);
	return rc;
}

int nb_tracks_json(const struct nb_tracks *site, size_t n, bool one, uint64_t only, size_t room,
		   struct nb_json *out, struct nb_err *err)
{
	const char **names;
	struct reader r = { .n = 0 };
	int rc = 0;

	if (n > NB_TRACKS_SITES)
		return nb_fail(err, NB_E_LIMIT, 0, "%zu sites (allowed: %d)", n, NB_TRACKS_SITES);
	names = calloc(n ? n : 1, sizeof(*names));
	if (!names)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for the names of %zu sites", n);
	for (size_t i = 0; !rc && i < n; i++) {
		names[i] = site[i].site;
		rc = read_site(&r, &site[i], (uint32_t)i, err);
	}
	if (r.n)
		qsort(r.at, r.n, sizeof(*r.at), by_comm);
	if (!rc)
		rc = put_groups(&r, names, one, only, room, out, err);
	free(r.at);
	free(names);
	return rc;
}
