// SPDX-License-Identifier: MIT
/*
 * Communicators as the coordinator sees them. The rows comm/COMM/SITE say which
 * sites have ranks of a communicator; the keys answer/SITE say how far these
 * ranks are.
 */
#include "plugin/agent/coordinator/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/segment/format.h"
#include "plugin/agent/keys/view.h"

static const char zero[65] = "0000000000000000000000000000000000000000000000000000000000000000";

static const struct nb_view_key *group_record(const struct nb_view *v, const char *id)
{
	char key[40];

	snprintf(key, sizeof(key), "order/record/%s", id);
	return nb_view_get(v, key);
}

/* Returns what a site last answered about communicator @id. */
static const json_t *answer_of(const struct nb_view *v, const char *site, const char *id)
{
	return json_object_get(json_object_get(nb_view_at_site(v, "answer", site), "comms"), id);
}

static void group_say_settings(const struct nb_view *v, size_t a, size_t b, char *why, size_t size)
{
	static const char *const names[] = {
#define SETTING(name, text, values) text,
#include "core/defs/settings.h"
	};
	const json_t *x = json_object_get(v->at[a].value, "settings");
	const json_t *y = json_object_get(v->at[b].value, "settings");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_int_t m = json_integer_value(json_array_get(x, i));
		json_int_t n = json_integer_value(json_array_get(y, i));

		if (m == n)
			continue;
		snprintf(why, size, "%s of site %s: %lld; of site %s: %lld", names[i],
			 nb_group_site(v, a), (long long)m, nb_group_site(v, b), (long long)n);
		return;
	}
	snprintf(why, size, "sites %s and %s differ in their settings", nb_group_site(v, a),
		 nb_group_site(v, b));
}

static const char *first_gone(const struct nb_view *v, const struct nb_group *g)
{
	size_t i = 0;

	return nb_group_gone(v, g, nb_group_members(v, g), &i);
}

enum { NAMED = 4096 }; /* ranks with a larger number are not named */

/* Mark the ranks that @who has. Returns false if one is marked or too large. */
static bool mark_ranks(bool here[NAMED], const json_t *who)
{
	for (size_t i = 0; i < json_array_size(who); i++) {
		json_int_t n = json_integer_value(json_array_get(who, i));

		if (n < 0 || n >= NAMED || here[n])
			return false;
		here[n] = true;
	}
	return true;
}

/*
 * Write which ranks of the group have not registered: "ranks 2-3,7", or "the
 * others" if their numbers are unknown.
 */
static void group_say_missing(const struct nb_view *v, const struct nb_group *g, char text[80])
{
	bool one = g->nranks - g->ranks == 1;
	const char *noun = one ? "rank " : "ranks ";
	bool here[NAMED] = { false };
	bool known = g->nranks <= NAMED;
	size_t at = 0;

	for (size_t i = g->first; known && i < g->end; i++) {
		const json_t *o = v->at[i].value, *who;

		who = json_object_get(o, "who");
		known = (json_int_t)json_array_size(who) == nb_view_int(o, "ranks") &&
			mark_ranks(here, who);
	}
	snprintf(text, 80, "the others have");
	for (json_int_t n = 0; known && n < g->nranks; n++) {
		json_int_t first = n;

		if (here[n])
			continue;
		while (n + 1 < g->nranks && !here[n + 1])
			n++;
		if (at > 36) {
			snprintf(text + at, 80 - at, " and others have");
			return;
		}
		at += (size_t)snprintf(text + at, 80 - at, "%s%lld", at ? "," : noun,
				       (long long)first);
		if (n > first)
			at += (size_t)snprintf(text + at, 80 - at, "-%lld", (long long)n);
	}
	if (at)
		snprintf(text + at, 80 - at, one ? " has" : " have");
}

/* Write why the fleet cannot change the communicator, or "" if it can. */
static void group_why(const struct nb_view *v, const struct nb_group *g, char *why, size_t size)
{
	const json_t *first = v->at[g->first].value;
	char missing[80];

	*why = '\0';
	for (size_t i = g->first; i < g->end && !*why; i++) {
		const json_t *o = v->at[i].value;
		const char *differs = nb_view_str(o, "differs");
		const char *clock = nb_view_str(o, "clock");

		if (*differs)
			snprintf(why, size, "on site %s: %s", nb_group_site(v, i), differs);
		else if (nb_view_int(o, "nranks") != nb_view_int(first, "nranks"))
			snprintf(why, size,
				 "sites %s and %s have communicators of the same identity "
				 "but different sizes",
				 nb_group_site(v, g->first), nb_group_site(v, i));
		else if (!json_equal(json_object_get(o, "settings"),
				     json_object_get(first, "settings")))
			group_say_settings(v, g->first, i, why, size);
		else if (strcmp(clock, "unknown") &&
			 strcmp(nb_view_str(first, "clock"), "unknown") &&
			 strcmp(clock, nb_view_str(first, "clock")))
			snprintf(why, size,
				 "site %s counts %s and site %s counts %s: "
				 "set NCCL_PROFILER_PLUGIN to ncclbpf in all processes, "
				 "and NCCLBPF_API_CLOCK to one value",
				 nb_group_site(v, g->first), nb_view_str(first, "clock"),
				 nb_group_site(v, i), clock);
	}
	if (!*why && g->ranks > g->nranks)
		snprintf(why, size,
			 "%u sites report %lld ranks of %lld: "
			 "two communicators have this identity, probably of two jobs of one name",
			 g->sites, (long long)g->ranks, (long long)g->nranks);
	else if (!*why && g->ranks != g->nranks && nb_group_left(v, g))
		snprintf(why, size,
			 "%lld of %lld ranks have registered: "
			 "the lease of the agent of site %s has ended",
			 (long long)g->ranks, (long long)g->nranks, nb_group_left(v, g));
	else if (!*why && g->ranks != g->nranks && first_gone(v, g))
		snprintf(why, size,
			 "%lld of %lld ranks are left: "
			 "site %s has ended or destroyed the communicator",
			 (long long)g->ranks, (long long)g->nranks,
			 nb_group_gone(v, g, nb_group_members(v, g), &(size_t){ 0 }));
	if (*why || g->ranks == g->nranks)
		return;
	group_say_missing(v, g, missing);
	snprintf(why, size,
		 "%lld of %lld ranks have registered, on %u site%s: "
		 "%s no ncclbpf, no agent, or no NCCLBPF_FLEET",
		 (long long)g->ranks, (long long)g->nranks, g->sites, g->sites == 1 ? "" : "s",
		 missing);
}

/* Has each site registered, and have its ranks made their first decision? */
static bool group_begun(const struct nb_view *v, const struct nb_group *g)
{
	for (size_t i = g->first; i < g->end; i++)
		if (!strcmp(nb_view_str(v->at[i].value, "clock"), "unknown"))
			return false;
	return nb_group_registered(v, g);
}

static bool is_armed_again(const json_t *record)
{
	return nb_record_again(record) && !strcmp(nb_view_str(record, "state"), "armed");
}

/*
 * Returns true if a site of record @k, which was written again, has registered
 * after that. If this site has never copied a record, it does not copy this one
 * either, so the record would wait for its answer for ever.
 */
static bool registered_late(const struct nb_view *v, const struct nb_view_key *k, size_t first)
{
	struct nb_group g;

	return is_armed_again(k->value) && nb_group_at(v, first, &g) && g.ranks == g.nranks &&
	       nb_group_registered(v, &g) > k->made && !nb_target_answered(v, k);
}

bool nb_target_is_stale(const struct nb_view *v, const struct nb_view_key *k)
{
	char prefix[32];
	bool newer = false;

	snprintf(prefix, sizeof(prefix), "comm/%.16s/", k->key + 13);
	if (nb_view_below(v, nb_view_first(v, prefix), prefix) &&
	    registered_late(v, k, nb_view_first(v, prefix)))
		return true;
	for (size_t i = nb_view_first(v, prefix); nb_view_below(v, i, prefix); i++) {
		int64_t since = nb_view_int(v->at[i].value, "since");

		if (since && since <= k->made)
			return false;
		newer |= since > k->made;
	}
	return newer;
}

bool nb_target_answered(const struct nb_view *v, const struct nb_view_key *k)
{
	int64_t id = nb_record_id(k->value);
	struct nb_group g;
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "comm/%.16s/", k->key + 13);
	if (!nb_view_below(v, nb_view_first(v, prefix), prefix) ||
	    !nb_group_at(v, nb_view_first(v, prefix), &g) || g.ranks != g.nranks)
		return false;
	for (size_t i = g.first; i < g.end; i++)
		if (nb_view_int(answer_of(v, nb_group_site(v, i), g.id), "id") != id)
			return false;
	return id != 0;
}

static const char *target_digest(const json_t *record)
{
	const char *state = nb_view_str(record, "state");

	/* the change is undecided: the ranks may have either generation */
	if (!strcmp(state, "armed"))
		return "";
	return !record || strcmp(state, "commit") ? zero : nb_view_str(record, "digest");
}

/* Copy the names of the group's sites. Returns false if there is no memory. */
static bool keep_sites(struct nb_target *x, const struct nb_view *v, const struct nb_group *g)
{
	x->site = calloc(g->sites, sizeof(*x->site));
	for (size_t i = g->first; x->site && i < g->end; i++)
		if (!(x->site[i - g->first] = strdup(nb_group_site(v, i))))
			return false;
	return x->site != NULL;
}

/* Returns the first site whose ranks cannot have the replicated maps of @digest, or NULL. */
static const char *lacking_at(const struct nb_view *v, const struct nb_group *g, const char *digest)
{
	for (size_t i = g->first; i < g->end; i++) {
		const json_t *lacks = json_object_get(v->at[i].value, "lacks");

		for (size_t n = 0; n < json_array_size(lacks); n++) {
			const char *mark = json_string_value(json_array_get(lacks, n));

			if (mark && strlen(mark) == 16 && !strncmp(mark, digest, 16))
				return nb_group_site(v, i);
		}
	}
	return NULL;
}

static bool target_fill(struct nb_target *x, const struct nb_view *v, const struct nb_group *g,
			const char *digest)
{
	const struct nb_view_key *k = group_record(v, g->id);

	memset(x, 0, sizeof(*x));
	snprintf(x->comm, sizeof(x->comm), "%s", g->id);
	snprintf(x->record, sizeof(x->record), "order/record/%s", g->id);
	snprintf(x->state, sizeof(x->state), "unchangeable");
	x->mod = k ? k->mod : 0;
	x->id = nb_record_id(k ? k->value : NULL);
	x->back = k ? json_incref(k->value) : NULL;
	x->ranks = (uint32_t)g->nranks;
	x->sites = g->sites;
	if (!keep_sites(x, v, g))
		return false;
	group_why(v, g, x->why, sizeof(x->why));
	if (!*x->why && !group_begun(v, g))
		snprintf(x->why, sizeof(x->why),
			 "the ranks have made no decision yet: "
			 "the change applies from the first one on");
	if (!*x->why && lacking_at(v, g, digest))
		snprintf(
			x->why, sizeof(x->why),
			"the policies have replicated maps, and on site %.40s the ranks do not all "
			"count API calls: set NCCL_PROFILER_PLUGIN=ncclbpf, for NCCL 2.28 also "
			"NCCLBPF_API_CLOCK=on",
			lacking_at(v, g, digest));
	return true;
}

static void target_free(struct nb_target *x)
{
	for (uint32_t i = 0; x->site && i < x->sites; i++)
		free(x->site[i]);
	free(x->site);
	json_decref(x->back);
}

bool nb_targets_find(struct nb_targets *t, const struct nb_view *v, const char *digest)
{
	struct nb_group g;

	nb_targets_free(t);
	t->at = calloc(NB_TARGETS, sizeof(*t->at));
	if (!t->at)
		return false;
	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g); i = g.end) {
		const struct nb_view_key *k = group_record(v, g.id);

		if (t->n == NB_TARGETS) /* a later change covers those beyond */
			break;
		if (k && nb_target_is_stale(v, k))
			continue;
		if (!strcmp(target_digest(k ? k->value : NULL), digest)) {
			t->same++;
			continue;
		}
		if (!target_fill(&t->at[t->n], v, &g, digest)) {
			target_free(&t->at[t->n]);
			nb_targets_free(t);
			return false;
		}
		t->n++;
	}
	return true;
}

void nb_targets_free(struct nb_targets *t)
{
	for (size_t i = 0; i < t->n; i++)
		target_free(&t->at[i]);
	free(t->at);
	*t = (struct nb_targets){ 0 };
}

/*
 * Returns true if site @i has registered the communicator. A site whose agent
 * has left has no key in the store, although its ranks continue: its state
 * counts as unknown.
 */
static bool is_there(const struct nb_view *v, const struct nb_target *x, uint32_t i)
{
	char key[128];

	snprintf(key, sizeof(key), "comm/%s/%s", x->comm, x->site[i]);
	return nb_view_get(v, key) != NULL;
}

/*
 * Largest announced decision number and largest decision rate of a group's
 * ranks, over all sites. @taken: all sites have taken the record's fence.
 * @unknown: the first site that has not reported the record's revision, or NULL
 */
struct sums {
	uint64_t announced, per_s;
	bool taken;
	const char *unknown;
};

/*
 * Combine the decision numbers that all sites have announced. @id: id of the
 * record that a site must have reported to count as known; 0 accepts any
 */
static struct sums sum_up(const struct nb_view *v, const struct nb_target *x, int64_t id)
{
	struct sums s = { .taken = true };

	for (uint32_t i = 0; i < x->sites; i++) {
		const json_t *o = answer_of(v, x->site[i], x->comm);
		uint64_t n = (uint64_t)nb_view_int(o, "announced");
		uint64_t r = (uint64_t)nb_view_int(o, "per_s");
		bool known = !id || nb_view_int(o, "id") == id;

		s.announced = n > s.announced ? n : s.announced;
		s.per_s = r > s.per_s ? r : s.per_s;
		if (!s.unknown && (!known || !is_there(v, x, i)))
			s.unknown = x->site[i];
		s.taken &= nb_view_int(o, "id") == id && json_is_true(json_object_get(o, "taken"));
	}
	return s;
}

bool nb_targets_ready(const struct nb_targets *t, const struct nb_view *v, char *why, size_t size)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct nb_target *x = &t->at[i];
		struct sums s = sum_up(v, x, x->id);
		const char *state = nb_view_str(x->back, "state");

		if (*x->why || !x->id)
			continue;
		if (!s.unknown && strcmp(state, "armed") &&
		    (s.taken || strcmp(state, "commit") != 0 ||
		     s.announced <= (uint64_t)nb_view_int(x->back, "fence")))
			continue;
		if (s.unknown)
			snprintf(why, size,
				 "site %.72s has not reported "
				 "how far its ranks of communicator %s are",
				 s.unknown, x->comm);
		else
			snprintf(why, size,
				 "some ranks of communicator %s have not reached the fence "
				 "of the previous change",
				 x->comm);
		return false;
	}
	return true;
}

enum { LEAST = 4 };

void nb_targets_choose(struct nb_targets *t, const struct nb_view *v, unsigned tries,
		       uint64_t lead_ms)
{
	uint64_t least = (uint64_t)LEAST << tries;

	for (size_t i = 0; i < t->n; i++) {
		struct nb_target *x = &t->at[i];
		struct sums s = sum_up(v, x, 0);
		uint64_t lead = (s.per_s * lead_ms + 999) / 1000;
		uint64_t old = (uint64_t)nb_view_int(x->back, "fence");

		if (lead < least && (s.per_s || tries))
			lead = least;
		x->fence = s.announced + lead;
		/*
		 * no rank is known to have reached the last fence, so use it
		 * again; the answers will show if a rank has passed it
		 * meanwhile
		 */
		if (!strcmp(nb_view_str(x->back, "state"), "commit") && s.announced <= old)
			x->fence = old;
		if (x->fence > NB_FENCE_MAX_SEQ)
			snprintf(x->why, sizeof(x->why),
				 "the communicator has made more than 2^40 decisions");
	}
}

enum nb_targets_stand nb_targets_stand(const struct nb_targets *t, const struct nb_view *v,
				       const char **site)
{
	enum nb_targets_stand worst = NB_TARGETS_BELOW;
	bool beyond = false;

	for (size_t k = 0; k < t->n; k++) {
		const struct nb_target *x = &t->at[k];
		const struct nb_view_key *now = group_record(v, x->comm);

		if (*x->why)
			continue;
		if (!now || now->mod != x->mod) {
			*site = x->comm;
			return NB_TARGETS_TAKEN;
		}
		for (uint32_t i = 0; i < x->sites; i++) {
			const json_t *o = answer_of(v, x->site[i], x->comm);
			const char *stand = nb_view_str(o, "stand");

			if (nb_view_int(o, "id") != x->id || !is_there(v, x, i)) {
				if (worst != NB_TARGETS_UNKNOWN)
					*site = x->site[i];
				worst = NB_TARGETS_UNKNOWN;
			} else if (!strcmp(stand, "unstaged")) {
				*site = x->site[i];
				return NB_TARGETS_UNSTAGED;
			} else if (!strcmp(stand, "beyond")) {
				beyond = true;
			} else if (strcmp(stand, "below") && worst == NB_TARGETS_BELOW) {
				worst = NB_TARGETS_AT;
			}
		}
	}
	/* further answers do not matter: a rank has passed the fence */
	return beyond ? NB_TARGETS_BEYOND : worst;
}

void nb_targets_armed(struct nb_targets *t, int64_t revision)
{
	for (size_t i = 0; i < t->n; i++) {
		struct nb_target *x = &t->at[i];

		if (*x->why)
			continue;
		x->mod = revision;
		x->id = x->next;
	}
}

void nb_targets_committed(struct nb_targets *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (!*t->at[i].why)
			snprintf(t->at[i].state, sizeof(t->at[i].state), "committed");
}

/* Returns what the record said before it was armed. */
static json_t *before_arming(const struct nb_target *x)
{
	return *nb_view_str(x->back, "state") ? nb_record_bare(x->back)
					      : json_pack("{s:s}", "state", "none");
}

json_t *nb_target_back(struct nb_target *x)
{
	x->next = nb_record_draw();
	return nb_record_link(before_arming(x), x->next, x->id);
}

json_t *nb_target_record(struct nb_target *x, const char *state, int64_t n, const char *digest)
{
	json_t *o = json_pack("{s:s,s:I,s:s,s:I}", "state", state, "n", (json_int_t)n, "digest",
			      digest, "fence", (json_int_t)x->fence);

	if (!strcmp(state, "armed"))
		json_object_set_new(o, "back", before_arming(x));
	x->next = nb_record_draw();
	return nb_record_link(o, x->next, x->id);
}

json_t *nb_targets_report(const struct nb_targets *t, bool check)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->n; i++) {
		const struct nb_target *x = &t->at[i];

		json_array_append_new(
			list, json_pack("{s:s,s:s,s:I,s:i,s:i,s:o}", "comm_id", x->comm, "state",
					check && !*x->why ? "staged" : x->state, "fence",
					(json_int_t)x->fence, "ranks", (int)x->ranks, "sites",
					(int)x->sites, "why", nb_view_text(x->why)));
	}
	return list;
}

/*
 * Returns the baseline digest that all sites of the group share, or "" if they
 * differ.
 */
static const char *common_baseline(const struct nb_view *v, const struct nb_group *g)
{
	const char *first = "";

	for (size_t i = g->first; i < g->end; i++) {
		const char *d =
			nb_view_str(nb_view_at_site(v, "site", nb_group_site(v, i)), "baseline");

		if (i == g->first)
			first = d;
		else if (strcmp(first, d))
			return "";
	}
	return first;
}

json_t *nb_targets_notes(const struct nb_view *v)
{
	json_t *notes = json_object();
	struct nb_group g;
	char why[160];

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g); i = g.end) {
		group_why(v, &g, why, sizeof(why));
		if (!*why && group_begun(v, &g) && !group_record(v, g.id) &&
		    !*common_baseline(v, &g))
			snprintf(why, sizeof(why),
				 "its sites began with different policies "
				 "(NCCLBPF_POLICY); policy use FILE... gives "
				 "all of them the same");
		if (*why)
			json_object_set_new(notes, g.id, nb_view_text(why));
	}
	return notes;
}

bool nb_targets_lacking(const struct nb_view *v)
{
	struct nb_group g;
	char why[160];

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g); i = g.end) {
		const struct nb_view_key *k = group_record(v, g.id);
		const char *want = common_baseline(v, &g);

		if (k && is_armed_again(k->value))
			continue;
		group_why(v, &g, why, sizeof(why));
		if (!*why && *want && group_begun(v, &g) && !lacking_at(v, &g, want) &&
		    strcmp(target_digest(k ? k->value : NULL), want))
			return true;
	}
	return false;
}

bool nb_targets_started(const struct nb_view *v)
{
	struct nb_group g;
	bool any = false;

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g); i = g.end) {
		any = true;
		if (g.ranks == g.nranks)
			return true;
	}
	for (size_t i = nb_view_first(v, "site/"); !any && nb_view_below(v, i, "site/"); i++)
		if (nb_view_int(v->at[i].value, "communicators") > 0)
			return true;
	return false;
}

json_t *nb_targets_unsettled(const struct nb_view *v, const json_t *sites, int64_t n, int64_t since,
			     bool *waits)
{
	json_t *list = json_array();

	*waits = false;
	for (size_t i = 0; i < json_array_size(sites); i++) {
		const char *name = json_string_value(json_array_get(sites, i));
		const json_t *o = nb_view_at_site(v, "answer", name);
		const char *state = nb_view_str(o, "state"), *text = "";

		if (!o && nb_view_ended(v, name, since))
			continue;
		if (nb_view_int(o, "n") < n || !strcmp(state, "staged")) {
			*waits = true;
			text = "has not reported that it has committed";
		} else if (!strcmp(state, "failed") && nb_view_int(o, "n") == n) {
			text = nb_view_str(o, "text");
		} else {
			continue;
		}
		json_array_append_new(list, json_pack("{s:s,s:s}", "site", name, "text", text));
	}
	return list;
}
