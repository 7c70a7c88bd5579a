// SPDX-License-Identifier: MIT
/* Write the agreement of ranks as JSON, for the control socket and for the
 * shell, which also reads the segments of dead jobs. */
#include "core/job/segment/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/spec/spec.h"

static int put_rank_text(const struct nb_agree_rank *r, char *text, size_t size)
{
	const struct nb_decision *d = &r->decision;
	const char *coll = d->coll < 0 ? NULL : nb_nccl_coll(d->coll);
	const char *algo = d->algo < 0 ? NULL : nb_nccl_algo(d->algo);
	const char *proto = d->proto < 0 ? NULL : nb_nccl_proto(d->proto);
	char chunk[32] = "";

	if (d->chunk_size)
		snprintf(chunk, sizeof(chunk), ", chunks of %u", d->chunk_size);
	return snprintf(text, size, "slot %u (pid %u) %s %" PRIu64 " bytes %s/%s, %u channels%s",
			r->slot, r->pid, coll ? coll : "?", d->bytes, algo ? algo : "?",
			proto ? proto : "?", d->channels, chunk);
}

/* Find a rank of the majority and a rank that differs from it. */
static void two_sides(const struct nb_agree *a, const struct nb_agree_rank *side[2])
{
	side[0] = side[1] = NULL;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->rank[i].has && !side[a->rank[i].differs])
			side[a->rank[i].differs] = &a->rank[i];
}

void nb_agree_text(const struct nb_agree *a, char *text, size_t size)
{
	const char *offers = a->offers ? "; NCCL offered them different choices" : "";
	const struct nb_agree_rank *side[2];
	char one[2][128] = { "", "" };

	if (a->verdict == NB_STATE_DIFFERS) {
		snprintf(text, size,
			 "ranks decided alike, but the contents of their replicated maps differ "
			 "after API call %" PRIu64,
			 a->seq);
		return;
	}
	if (a->verdict != NB_DIVERGED && a->verdict != NB_API_CALLS_DIFFER) {
		snprintf(text, size,
			 "ranks differed before decision %" PRIu64 ", the oldest recorded one",
			 a->seq);
		return;
	}
	two_sides(a, side);
	for (int i = 0; i < 2; i++)
		if (side[i])
			put_rank_text(side[i], one[i], sizeof(one[i]));
	if (a->verdict == NB_API_CALLS_DIFFER)
		snprintf(text, size,
			 "ranks asked the tuner alike, but after different calls of NCCL's API: "
			 "counted by calls, the first decision that differs is number %" PRIu64
			 ": %s; %s%s",
			 a->seq, one[0], one[1], offers);
	else if (a->extra)
		snprintf(text, size,
			 "from decision %" PRIu64
			 " on slot %u has made %u decision%s that others did not (%s; %s)",
			 a->seq, a->extra_slot, a->extra, a->extra == 1 ? "" : "s", one[0], one[1]);
	else
		snprintf(text, size,
			 "the first decision that differs is number %" PRIu64 ": %s; %s%s", a->seq,
			 one[0], one[1], offers);
}

static void report_put_decision(const struct nb_agree_rank *r, struct nb_json *j)
{
	const struct nb_decision *d = &r->decision;

	nb_json_key(j, "decision");
	if (!r->has) {
		nb_json_null(j);
		return;
	}
	nb_json_obj(j);
	nb_json_kstr(j, "coll", d->coll < 0 ? NULL : nb_nccl_coll(d->coll));
	nb_json_ku64(j, "bytes", d->bytes);
	nb_json_kstr(j, "algo", d->algo < 0 ? NULL : nb_nccl_algo(d->algo));
	nb_json_kstr(j, "proto", d->proto < 0 ? NULL : nb_nccl_proto(d->proto));
	nb_json_ku64(j, "channels", d->channels);
	if (d->chunk_size)
		nb_json_ku64(j, "chunk_size", d->chunk_size);
	nb_json_ku64(j, "usable", d->usable);
	nb_json_ku64(j, "generation", d->generation);
	nb_json_ki64(j, "by", d->by);
	nb_json_end_obj(j);
}

static void report_put_member(const char *site, const char *policies, const struct nb_agree_rank *r,
			      struct nb_json *j)
{
	char hash[24];

	snprintf(hash, sizeof(hash), "%012" PRIx64, r->hash);
	nb_json_obj(j);
	if (site)
		nb_json_kstr(j, "site", site);
	nb_json_ku64(j, "slot", r->slot);
	nb_json_ki64(j, "rank", r->rank);
	nb_json_ku64(j, "pid", r->pid);
	nb_json_kbool(j, "live", r->live);
	nb_json_ku64(j, "decisions", r->decisions);
	nb_json_ku64_if(j, "calls", r->calls, r->calls);
	nb_json_ku64(j, "generation", r->generation);
	nb_json_kstr(j, "policies", policies);
	nb_json_kstr(j, "hash", hash);
	nb_json_kbool(j, "waits", r->waits);
	nb_json_kbool(j, "differs", r->differs);
	report_put_decision(r, j);
	nb_json_end_obj(j);
}

bool nb_agreement_fine(enum nb_agreement v)
{
	return v == NB_AGREED || v == NB_ALONE || v == NB_TOO_FAR || v == NB_TUNER_CALLS_DIFFER ||
	       v == NB_COUNTS_DIFFER;
}

/* @s: NULL for the ranks of one site */
static void report_put_offers(const struct nb_agree *a, const struct nb_report_sites *s,
			      struct nb_json *j)
{
	nb_json_karr(j, "offers");
	for (int i = 0; i < 2; i++) {
		const struct nb_agree_rank *r = &a->rank[a->offer_rank[i]];
		const struct nb_decision *d = &a->offer[i];

		nb_json_obj(j);
		if (s)
			nb_json_kstr(j, "site", s->name[r->site]);
		nb_json_ku64(j, "slot", r->slot);
		nb_json_ki64(j, "rank", r->rank);
		nb_json_ku64(j, "seq", d->seq);
		nb_json_kstr(j, "coll", d->coll < 0 ? NULL : nb_nccl_coll(d->coll));
		nb_json_ku64(j, "bytes", d->bytes);
		nb_json_ku64(j, "usable", d->usable);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

/* Write the object's members before "members". */
static void report_put_comm(const struct nb_agree *a, const struct nb_report_sites *s,
			    struct nb_json *j)
{
	nb_json_obj(j);
	nb_json_kid(j, "comm", a->comm_id);
	nb_json_kstr(j, "verdict", nb_agreement_word(a->verdict));
	nb_json_ku64(j, "ranks", a->ranks);
	nb_json_ku64(j, "here", a->here);
	nb_json_kstr(j, "clock",
		     a->clock == NB_CLOCK_CALLS	 ? "api_calls"
		     : a->clock == NB_CLOCK_NONE ? "none"
						 : "decisions");
	nb_json_ku64(j, "compared_to", a->to);
	nb_json_ku64(j, "least", a->least);
	nb_json_ku64(j, "most", a->most);
	if (nb_agree_broken(a) || a->extra)
		nb_json_ku64(j, "seq", a->seq);
	if (a->verdict == NB_DIVERGED)
		nb_json_kbool(j, "earlier", a->earlier);
	if (a->extra) {
		nb_json_ku64(j, "extra", a->extra);
		nb_json_ku64(j, "extra_slot", a->extra_slot);
	}
	if (a->offers)
		report_put_offers(a, s, j);
	nb_json_karr(j, "members");
}

static void put_here(const struct nb_job *job, const struct nb_agree *a, bool members,
		     struct nb_json *j)
{
	char policies[216];

	report_put_comm(a, NULL, j);
	for (uint32_t i = 0; members && i < a->n; i++) {
		nb_job_policies(job, a->rank[i].generation, policies, sizeof(policies));
		report_put_member(NULL, policies, &a->rank[i], j);
	}
	nb_json_end_arr(j);
	nb_json_end_obj(j);
}

void nb_agree_json(const struct nb_agree *a, const struct nb_report_sites *s, bool members,
		   struct nb_json *j)
{
	uint32_t sites = 0;

	report_put_comm(a, s, j);
	for (uint32_t i = 0; members && i < a->n; i++)
		report_put_member(s->name[a->rank[i].site], s->policies[i], &a->rank[i], j);
	nb_json_end_arr(j);
	for (uint32_t i = 0; i < a->n; i++)
		sites += !i || a->rank[i].site != a->rank[i - 1].site;
	nb_json_ku64(j, "sites", sites);
	if (a->extra)
		nb_json_kstr(j, "extra_site", s->name[a->extra_site]);
	nb_json_end_obj(j);
}

void nb_job_json(const struct nb_job *job, const char *path, bool one, uint64_t only, size_t room,
		 struct nb_json *out)
{
	struct nb_agree *a = calloc(1, sizeof(*a));
	bool agree = a != NULL;
	uint32_t left = 0;

	nb_json_kstr(out, "segment", path);
	nb_json_karr(out, "comms");
	for (uint32_t i = 0; a && i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = nb_job_comm(job, i);

		if (!c || (one && c->comm_id != only) || !nb_agree_at_rest(job, i, a))
			continue;
		agree = agree && nb_agreement_fine(a->verdict);
		if (out->out->size > room)
			left++;
		else
			put_here(job, a,
				 one || !nb_agreement_fine(a->verdict) ||
					 a->verdict == NB_TUNER_CALLS_DIFFER ||
					 a->verdict == NB_COUNTS_DIFFER,
				 out);
	}
	nb_json_end_arr(out);
	nb_json_kbool(out, "agree", agree);
	nb_json_ku64(out, "left_out", left);
	free(a);
}
