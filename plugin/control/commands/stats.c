// SPDX-License-Identifier: MIT
/*
 * Handlers of telemetry and stats, which enable the profiler's measurements and
 * show the results.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/job/segment/hist.h"
#include "plugin/control/commands/time.h"
#include "plugin/control/reply.h"
#include "plugin/gin/observe.h"
#include "plugin/profiler/events.h"
#include "plugin/runtime/params.h"
#include "plugin/runtime/relaxed.h"

void nb_cmd_lost_json(struct nb_json *j, const char *key)
{
	nb_json_kobj(j, key);
	for (int i = 0; i < NB_NLOST; i++)
		nb_json_ku64(j, nb_lost_word((enum nb_lost)i), nb_events_lost((enum nb_lost)i));
	nb_json_end_obj(j);
}

void nb_cmd_refused_json(struct nb_json *j)
{
	struct nb_err why;
	char text[sizeof(why.text) + sizeof(why.hint) + 2];
	bool refused = nb_events_refused(&why);

	if (refused)
		snprintf(text, sizeof(text), "%s; %s", why.text, why.hint);
	nb_json_kstr(j, "no_gpu_times", refused ? text : NULL);
}

/*
 * Adds the API calls for which NCCL has reported no collective: it does not for
 * symmetric kernels up to 2.30 and, since 2.29, for broadcasts of several roots in
 * a group.
 */
static void add_unreported(struct nb_pcomm *pc, void *arg)
{
	uint64_t calls = GET(pc->calls), tasks = GET(pc->tasks), *n = arg;

	if (calls > tasks)
		*n += calls - tasks;
}

static void put_telemetry(struct nb_json *j)
{
	unsigned tel = nb_tel_wanted(), mask = nb_events_mask();
	uint64_t unreported = 0;

	nb_json_kbool(j, "telemetry", tel & NB_TEL_ON);
	nb_json_kbool(j, "gpu", tel & NB_TEL_GPU);
	nb_json_kbool(j, "proxy", tel & NB_TEL_PROXY);
	nb_json_ku64(j, "profiler_abi", nb_events_abi());
	nb_json_ku64(j, "unconnected", nb_events_unconnected());
	nb_events_each(add_unreported, &unreported);
	nb_json_ku64(j, "unreported", unreported);
	nb_cmd_refused_json(j);
	nb_json_karr(j, "events");
	for (unsigned i = 0; i < NB_NEVENTS; i++)
		if (mask >> i & 1)
			nb_json_str(j, nb_event_word(i));
	nb_json_end_arr(j);
	nb_cmd_lost_json(j, "lost");
}

static void clear_one(struct nb_pcomm *pc, void *arg)
{
	(void)arg;
	nb_tel_clear(&pc->tel);
	SET(pc->calls, 0);
	SET(pc->tasks, 0);
}

static void telemetry_clear(void)
{
	nb_events_each(clear_one, NULL);
	nb_gin_times_clear();
}

static int bad_word(struct nb_call *call)
{
	return nb_fail(call->err, NB_E_ARG, 1, "telemetry %.40s must be on, off or clear",
		       call->req->arg[0]);
}

int nb_cmd_telemetry(struct nb_call *call)
{
	const char *word = call->req->arg[0];
	unsigned what = NB_TEL_ON;

	if (nb_request_yes(call->req, "gpu", true))
		what |= NB_TEL_GPU;
	if (nb_request_yes(call->req, "proxy", true))
		what |= NB_TEL_PROXY;
	if (!strcmp(word, "on"))
		nb_events_telemetry(what);
	else if (!strcmp(word, "off"))
		nb_events_telemetry(0);
	else if (!strcmp(word, "clear"))
		telemetry_clear();
	else
		return bad_word(call);
	put_telemetry(call->out);
	return 0;
}

struct listing {
	struct nb_json *j;
	struct nb_comm_option comm;
	struct nb_page page;
	uint64_t full; /* number of samples that found no free row */
	uint64_t limit;
};

void nb_cmd_time_json(struct nb_json *j, const char *key, const struct nb_tel_time *t)
{
	uint64_t count = 0, sum = GET(t->sum_ns), hist[NB_HIST_BUCKETS];

	for (uint32_t i = 0; i < NB_HIST_BUCKETS; i++) {
		hist[i] = GET(t->hist[i]);
		count += hist[i];
	}
	if (!count) {
		nb_json_knull(j, key);
		return;
	}
	nb_json_kobj(j, key);
	nb_json_ku64(j, "count", count);
	nb_json_ku64(j, "sum_ns", sum);
	nb_json_ku64(j, "mean_ns", sum / count);
	nb_json_ku64(j, "p50_ns", nb_hist_quantile(hist, 0.5));
	nb_json_ku64(j, "p90_ns", nb_hist_quantile(hist, 0.9));
	nb_json_ku64(j, "p99_ns", nb_hist_quantile(hist, 0.99));
	nb_json_ku64(j, "max_ns", GET(t->max_ns));
	nb_json_end_obj(j);
}

static void put_bandwidth(struct nb_json *j, const struct nb_tel_row *r, uint32_t func,
			  int32_t ranks)
{
	double ns = (double)GET(r->time[NB_TEL_EXEC].sum_ns);
	double alg = ns > 0 ? (double)GET(r->bytes_sum) / ns : (double)NAN;
	double factor = nb_tel_bus_factor(func, ranks);

	nb_json_kf64(j, "algbw_gbs", alg);
	nb_json_kf64(j, "busbw_gbs", ranks > 0 ? alg * factor : (double)NAN);
}

static void stats_put_owner(struct nb_json *j, const struct nb_pcomm *pc)
{
	nb_json_kid(j, "comm", GET(pc->comm_id));
	nb_json_kstr(j, "name", pc->name[0] ? pc->name : NULL);
	nb_json_ki64(j, "comm_rank", GET(pc->rank));
	nb_json_ki64(j, "ranks", GET(pc->ranks));
	nb_json_ki64(j, "nodes", GET(pc->nodes));
}

static void stats_put_row(struct listing *l, const struct nb_pcomm *pc, const struct nb_tel_row *r)
{
	uint64_t key = GET(r->key), bucket = key >> 16 & 63;
	uint32_t func = (uint32_t)(key >> 24) & 255;
	struct nb_json *j = l->j;

	nb_json_obj(j);
	stats_put_owner(j, pc);
	nb_json_kstr(j, "coll", nb_tel_func_word(func));
	nb_json_ku64(j, "bytes_from", bucket ? UINT64_C(1) << bucket : 0);
	nb_json_ku64(j, "bytes_to", (UINT64_C(2) << bucket) - 1);
	nb_json_ku64(j, "bytes_last", GET(r->bytes_last));
	nb_json_kstr(j, "algo", nb_tel_algo_word((uint32_t)(key >> 8) & 255));
	nb_json_kstr(j, "proto", nb_nccl_proto((int)(key & 255)));
	nb_json_ku64(j, "channels", GET(r->channels_last));
	nb_json_ku64(j, "count", GET(r->time[NB_TEL_ENQUEUE].count));
	nb_cmd_time_json(j, "enqueue", &r->time[NB_TEL_ENQUEUE]);
	nb_cmd_time_json(j, "gpu", &r->time[NB_TEL_KERNEL]);
	nb_cmd_time_json(j, "proxy", &r->time[NB_TEL_NETWORK]);
	nb_cmd_time_json(j, "exec", &r->time[NB_TEL_EXEC]);
	nb_json_kstr(j, "source", nb_tel_source_word((unsigned)GET(r->source)));
	put_bandwidth(j, r, func, GET(pc->ranks));
	nb_json_end_obj(j);
}

static void put_rows(struct nb_pcomm *pc, void *arg)
{
	struct listing *l = arg;

	if (!nb_comm_wanted(&l->comm, GET(pc->comm_id)))
		return;
	l->full += GET(pc->tel.full);
	for (uint32_t i = 0; i < NB_TEL_ROWS && !l->page.more; i++) {
		const struct nb_tel_row *r = &pc->tel.row[i];

		if (GET(r->key) && GET(r->time[NB_TEL_ENQUEUE].count) &&
		    nb_page_takes(&l->page, l->j))
			stats_put_row(l, pc, r);
	}
}

static void stats_put_tag(struct listing *l, const struct nb_pcomm *pc, uint64_t tag,
			  const struct nb_tel_tagged *r)
{
	struct nb_json *j = l->j;

	nb_json_obj(j);
	stats_put_owner(j, pc);
	nb_json_ku64(j, "tag", tag);
	nb_json_ku64(j, "count", GET(r->enqueue.count));
	nb_json_ku64(j, "bytes", GET(r->bytes_sum));
	nb_cmd_time_json(j, "enqueue", &r->enqueue);
	nb_cmd_time_json(j, "exec", &r->exec);
	nb_json_end_obj(j);
}

static void put_tags(struct nb_pcomm *pc, void *arg)
{
	struct listing *l = arg;

	if (!nb_comm_wanted(&l->comm, GET(pc->comm_id)))
		return;
	l->full += GET(pc->tel.tags_full);
	for (uint32_t i = 0; i < NB_TEL_TAGS && !l->page.more; i++) {
		uint64_t tag = GET(pc->tel.tag[i]);
		const struct nb_tel_tagged *r = &pc->tel.tagged[i];

		if (tag && GET(r->enqueue.count) && nb_page_takes(&l->page, l->j))
			stats_put_tag(l, pc, tag, r);
	}
}

void nb_cmd_times_json(struct nb_json *j)
{
	const char *times = nb_params.str[NB_P_TIMES];

	if (times && *times)
		nb_json_kstr(j, "times", times);
}

int nb_cmd_stats(struct nb_call *call)
{
	struct nb_json *j = call->out;
	struct listing l = { .j = j };
	const bool tags = nb_request_yes(call->req, "tags", false);
	int rc = nb_page_options(call, &l.page);

	if (!rc)
		rc = nb_cmd_comm(call, &l.comm);

	if (rc)
		return rc;
	put_telemetry(j);
	nb_cmd_times_json(j);
	nb_cmd_gin_json(j);
	nb_cmd_verbs_json(j);
	nb_json_karr(j, tags ? "tags" : "rows");
	nb_events_each(tags ? put_tags : put_rows, &l);
	nb_json_end_arr(j);
	nb_json_ku64(j, "rows_missing", l.full);
	nb_page_end(j, &l.page);
	return 0;
}

static void put_sample(struct nb_json *j, const struct nb_tel_recent *r)
{
	uint64_t bucket = r->key >> 16 & 63;

	nb_json_obj(j);
	nb_json_kstr(j, "coll", nb_tel_func_word((uint32_t)(r->key >> 24) & 255));
	nb_json_ku64(j, "bytes_from", bucket ? UINT64_C(1) << bucket : 0);
	nb_json_kstr(j, "algo", nb_tel_algo_word((uint32_t)(r->key >> 8) & 255));
	nb_json_kstr(j, "proto", nb_nccl_proto((int)(r->key & 255)));
	nb_json_ku64(j, "seq", r->seq);
	nb_json_ku64(j, "exec_ns", r->ns);
	nb_json_end_obj(j);
}

static void put_samples(struct nb_pcomm *pc, void *arg)
{
	struct listing *l = arg;
	uint64_t end = GET(pc->tel.next);
	uint64_t n = end > l->limit ? end - l->limit : 0;
	struct nb_json *j = l->j;

	if (!nb_comm_wanted(&l->comm, GET(pc->comm_id)) || !nb_cmd_room(j))
		return;
	nb_json_obj(j);
	stats_put_owner(j, pc);
	nb_json_karr(j, "samples");
	for (; n < end && nb_cmd_room(j); n++) {
		struct nb_tel_recent r;

		if (nb_tel_recent(&pc->tel, n, &r))
			put_sample(j, &r);
	}
	nb_json_end_arr(j);
	nb_json_end_obj(j);
}

int nb_cmd_sample_tail(struct nb_call *call)
{
	struct listing l = { .j = call->out, .limit = NB_TEL_RECENT };
	int rc = nb_cmd_number(call, "count", 1, NB_TEL_RECENT, &l.limit);

	if (!rc)
		rc = nb_cmd_comm(call, &l.comm);
	if (rc)
		return rc;
	nb_json_karr(l.j, "comms");
	nb_events_each(put_samples, &l);
	nb_json_end_arr(l.j);
	return 0;
}
