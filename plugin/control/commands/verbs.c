// SPDX-License-Identifier: MIT
/*
 * Handler of verbs: the queue pairs of NCCL's own InfiniBand transport and
 * their counters, if the tap observes them. `status` shows the counters, too.
 */
#include "plugin/control/reply.h"
#include "plugin/verbs/unseen.h"
#include "plugin/verbs/verbs.h"

static const char *verbs_state_word(uint32_t state)
{
	static const char *const words[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(words) / sizeof(words[0]) ? words[state] : NULL;
}

static void put_sums(struct nb_json *j, const struct nb_tap_api *tap)
{
	struct nb_tap_sums s;

	tap->sums(&s);
	nb_json_ku64(j, "devices", s.devices);
	nb_json_ku64(j, "live", s.live_qps);
	nb_json_ku64(j, "created", s.qps);
	nb_json_ku64(j, "sends", s.posts[1]);
	nb_json_ku64(j, "sent_bytes", s.bytes[1]);
	nb_json_ku64(j, "receives", s.posts[0]);
	nb_json_ku64(j, "received_bytes", s.bytes[0]);
	nb_json_ku64(j, "completions", s.completions[0] + s.completions[1]);
	nb_json_ku64(j, "errors", s.errors);
	nb_json_ku64(j, "failed_changes", s.failed_changes);
	nb_json_ku64(j, "events", s.events);
	nb_json_ku64(j, "failures", s.failures);
	nb_json_ku64(j, "regions", s.regions);
	nb_json_ku64(j, "region_bytes", s.region_bytes);
	nb_json_ku64(j, "tuned", s.tuned);
	nb_json_ku64(j, "refused", s.refused);
	nb_json_ku64(j, "undone", s.undone);
	nb_json_ku64(j, "unseen", s.unseen);
	nb_json_ku64(j, "strays", s.strays);
	nb_json_ku64(j, "overflows", s.overflows);
	nb_json_ku64(j, "stalled", s.stalled);
	nb_json_ku64(j, "extended_queues", s.extended);
	nb_json_ku64(j, "other_contexts", nb_verbs_other_contexts(&s));
	nb_json_kbool(j, "gpu_posts", nb_verbs_gpu_posts("/sys", tap));
}

void nb_cmd_verbs_json(struct nb_json *j)
{
	const struct nb_tap_api *tap = nb_verbs_tap();

	if (!tap) {
		nb_json_knull(j, "verbs");
		return;
	}
	nb_json_kobj(j, "verbs");
	put_sums(j, tap);
	nb_json_end_obj(j);
}

struct listing {
	struct nb_json *j;
	struct nb_page page;
};

static bool put_qp(const struct nb_tap_qp_view *v, void *arg)
{
	struct listing *l = arg;
	struct nb_json *j = l->j;

	if (!nb_page_takes(&l->page, j))
		return !l->page.more;
	nb_json_obj(j);
	nb_json_ku64(j, "qp", v->qp);
	nb_json_kstr(j, "device", v->device_name);
	nb_json_kstr(j, "state", verbs_state_word(v->state));
	nb_json_ku64(j, "peer_qp", v->peer_qp);
	nb_json_kid(j, "gid", v->gid);
	nb_json_ku64(j, "age_ms", v->age_ns / 1000000);
	nb_json_ku64(j, "ready_us", v->ready_ns / 1000);
	nb_json_ku64(j, "sends", v->posts[1]);
	nb_json_ku64(j, "sent_bytes", v->bytes[1]);
	nb_json_ku64(j, "receives", v->posts[0]);
	nb_json_ku64(j, "received_bytes", v->bytes[0]);
	nb_json_ku64(j, "outstanding", v->outstanding[0] + v->outstanding[1]);
	nb_json_ku64(j, "waiting_ms", v->waiting_ns / 1000000);
	nb_json_ku64(j, "errors", v->errors);
	nb_json_ku64(j, "last_status", v->last_status);
	nb_json_end_obj(j);
	return true;
}

int nb_cmd_verbs(struct nb_call *call)
{
	const struct nb_tap_api *tap = nb_verbs_tap();
	struct listing l = { .j = call->out };
	int rc = nb_page_options(call, &l.page);

	if (rc)
		return rc;
	nb_json_kbool(l.j, "tap", tap != NULL);
	nb_json_kstr(l.j, "trouble", nb_verbs_trouble());
	if (tap)
		put_sums(l.j, tap);
	nb_json_karr(l.j, "queue_pairs");
	if (tap)
		tap->qps(put_qp, &l);
	nb_json_end_arr(l.j);
	nb_page_end(l.j, &l.page);
	return 0;
}
