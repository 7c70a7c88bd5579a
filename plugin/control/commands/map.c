// SPDX-License-Identifier: MIT
/*
 * Handlers of map list|show|dump|get, which change nothing. Keys and values are
 * hexadecimal and have exactly the map's sizes.
 */
#include "plugin/control/commands/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/map/host.h"
#include "core/bpf/map/ringbuf.h"
#include "plugin/change/sync.h"
#include "plugin/policies/generations.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/lock.h"

enum { DUMP_DEFAULT = 1024, DUMP_MOST = 1 << 20 };

static const char *origin_word(enum nb_map_origin o)
{
	switch (o) {
	case NB_ORIGIN_DEFINED:
		return "defined";
	case NB_ORIGIN_RODATA:
		return "rodata";
	case NB_ORIGIN_DATA:
		return "data";
	case NB_ORIGIN_BSS:
		return "bss";
	}
	return "unknown";
}

/* Write the descriptor that a host map shows, and the age of its contents. */
static void put_host(struct nb_json *j, const struct nb_map *m)
{
	uint32_t unfinished;
	uint64_t written = nb_map_host_written(m, &unfinished);
	uint64_t now = nb_clock_system();

	nb_json_kbool(j, "attached", nb_map_host_attached(m));
	nb_json_ku64_if(j, "age_ns", written != 0, now > written ? now - written : 0);
	nb_json_ku64(j, "unfinished", unfinished);
}

void nb_map_members(struct nb_json *j, const struct nb_map_ref *r)
{
	const struct nb_map_spec *s = r->spec;
	const struct nb_map *object = r->object;
	const struct nb_map_type_spec *type = nb_spec_map_type(s->type);

	nb_json_kstr(j, "map", s->name);
	nb_json_kstr(j, "policy", r->policy->img->name);
	nb_cmd_digest(j, "policy_digest", r->policy->img->digest);
	nb_json_kstr(j, "type", type ? type->word : NULL);
	nb_json_ku64(j, "key_size", s->key_size);
	nb_json_ku64(j, "value_size", s->value_size);
	nb_json_ku64(j, "max_entries", s->max_entries);
	nb_json_ku64(j, "ncpus", type && type->traits & NB_TRAIT_PERCPU ? nb_ncpus() : 1);
	nb_json_ku64(j, "flags", s->flags);
	nb_json_kbool(j, "coherent", r->coherent);
	nb_json_kbool(j, "shared", (s->tags & NB_MAPF_SHARED) != 0);
	if (s->tags & NB_MAPF_MERGED)
		nb_json_kstr(j, "merged", s->tags & NB_MAPF_SUM ? "sum" : "max");
	if (s->tags & NB_MAPF_REPLICATED)
		nb_json_kbool(j, "replicated", true);
	nb_json_kstr(j, "origin", origin_word(s->origin));
	nb_json_kbool(j, "in_use", r->in_use);
	if (object && nb_map_is_host(object))
		put_host(j, object);
	nb_json_ku64_if(j, "count", object != NULL, object ? nb_map_count(object) : 0);
	nb_json_ku64(j, "memory_bytes", object ? nb_map_memory(object) : 0);
	nb_json_ku64(j, "btf_key", s->btf_key);
	nb_json_ku64(j, "btf_value", s->btf_value);
}

static void list_policy(struct nb_json *j, struct nb_policy *p)
{
	for (uint32_t i = 0; i < p->img->nmaps; i++) {
		struct nb_map_ref r;

		nb_held_map(p, i, &r);
		nb_json_obj(j);
		nb_map_members(j, &r);
		nb_json_end_obj(j);
	}
}

int nb_cmd_map_list(struct nb_call *call)
{
	struct nb_json *j = call->out;

	nb_json_karr(j, "maps");
	for (uint32_t i = 0; nb_gens.baseline && i < nb_gens.baseline->npolicies; i++)
		list_policy(j, nb_gens.baseline->policy[i].policy);
	nb_json_end_arr(j);
	return 0;
}

int nb_cmd_map_show(struct nb_call *call)
{
	struct nb_map_ref r;
	int rc = nb_held_map_find(call->req->arg[0], &r, call->err);

	if (!rc)
		nb_map_members(call->out, &r);
	return rc;
}

/*
 * Replace replicated map @r by a copy of its contents in this process's only
 * communicator whose policies use it. The caller holds NB_LOCK_STATE.
 */
static int copy_replicated(struct nb_map_ref *r, struct nb_err *err)
{
	const struct nb_comm *of = NULL;
	const struct nb_gen_policy *gp = NULL;
	uint32_t n = 0;

	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		const struct nb_gen *g = __atomic_load_n(&c->gen, __ATOMIC_ACQUIRE);
		const struct nb_gen_policy *p = nb_gen_policy_of(g, r->policy->img->digest);

		if (!p || (of && of->init.comm_id == c->init.comm_id))
			continue;
		of = c;
		gp = p;
		n++;
	}
	if (n == 1)
		return nb_map_of_state(&r->object, gp->maps[r->map], of->state, err);
	return nb_fail(err, NB_E_REFUSED, 1,
		       "map %s is replicated, and each communicator has its own contents: %u "
		       "communicators of this process use it (allowed: 1)",
		       r->spec->name, n);
}

static int find_target(struct nb_call *call, struct nb_map_target *t)
{
	struct nb_map_ref *r = &t->ref;
	int rc;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	rc = nb_held_map_find(call->req->arg[0], r, call->err);
	if (!rc && r->spec->tags & NB_MAPF_REPLICATED)
		rc = copy_replicated(r, call->err);
	else if (!rc && r->object)
		nb_map_get(r->object);
	if (!rc) {
		nb_policy_get(r->policy);
		snprintf(t->name, sizeof(t->name), "%s/%s", r->policy->img->name, r->spec->name);
	}
	nb_unlock(NB_LOCK_STATE);
	return rc;
}

void nb_map_target_drop(struct nb_map_target *t)
{
	nb_map_put(t->ref.object);
	nb_policy_put(t->ref.policy);
}

int nb_map_target_take(struct nb_call *call, struct nb_map_target *t)
{
	int rc = find_target(call, t);

	if (rc || t->ref.object)
		return rc;
	nb_fail(call->err, NB_E_REFUSED, 1,
		"map %s is coherent and its policy is not in use: it has no content", t->name);
	nb_hint(call->err, "policy use %s", t->ref.policy->img->name);
	nb_map_target_drop(t);
	return call->err->code;
}

size_t nb_map_target_value_size(const struct nb_map_target *t)
{
	return t->ref.object ? nb_map_user_value_size(t->ref.object) : t->ref.spec->value_size;
}

enum nb_map_keys nb_map_target_keys(const struct nb_map_target *t)
{
	return nb_spec_map_type(t->ref.spec->type)->keys;
}

static void put_entry(struct nb_json *j, const struct nb_map_target *t, const void *key,
		      const void *value)
{
	nb_json_khex(j, "key", key, t->ref.spec->key_size);
	nb_json_khex(j, "value", value, nb_map_target_value_size(t));
}

int nb_map_target_fits(const struct nb_map_target *t, struct nb_err *err)
{
	/* two hexadecimal digits for each byte */
	size_t size = 2 * (nb_map_target_value_size(t) + t->ref.spec->key_size);

	if (size + 4096 <= NB_WIRE_REPLY - NB_CMD_ROOM)
		return 0;
	return nb_fail(err, NB_E_LIMIT, 0,
		       "map %s: an element is %zu bytes for all CPUs, "
		       "which is more than a reply can carry",
		       t->name, nb_map_target_value_size(t));
}

struct dump {
	/* key is the start of one allocation for all three */
	unsigned char *key, *next, *value;
	uint64_t limit;
	bool have_key; /* key contains the last key that was written */
	bool more;
};

static int dump_options(struct nb_call *call, const struct nb_map_target *t, struct dump *d)
{
	const char *after = nb_request_opt(call->req, "after");
	size_t key = t->ref.spec->key_size;
	int rc;

	d->limit = DUMP_DEFAULT;
	rc = nb_cmd_number(call, "limit", 1, DUMP_MOST, &d->limit);

	if (!rc)
		rc = nb_map_target_fits(t, call->err);
	if (rc)
		return rc;
	if (nb_map_target_keys(t) == NB_KEYS_RING && after)
		return nb_fail(
			call->err, NB_E_USAGE, 0,
			"map dump: a map of type %s has no keys after which a page could start",
			nb_spec_map_type(t->ref.spec->type)->word);
	d->key = calloc(1, 2 * key + nb_map_target_value_size(t) + NB_MAP_RECORD);
	if (!d->key)
		return nb_fail(call->err, NB_E_NOMEM, 0, "map dump: no memory");
	d->next = d->key + key;
	d->value = d->next + key;
	d->have_key = after != NULL;
	if (after)
		rc = nb_wire_hex(d->key, key, after, "option after=", call->err);
	return rc;
}

static void put_record(struct nb_json *j, uint64_t pos, const void *value, size_t size)
{
	nb_json_obj(j);
	/* write the position in little-endian byte order */
	nb_json_khex(j, "key", &pos, sizeof(pos));
	nb_json_khex(j, "value", value, size);
	nb_json_end_obj(j);
}

/*
 * List the complete records of a ring buffer, the oldest first, without
 * consuming them. The key is the record's offset. For a record longer than
 * NB_MAP_RECORD only the key is shown.
 */
static void dump_records(struct nb_json *j, const struct nb_map_target *t, struct dump *d)
{
	uint64_t at = 0, pos, given = 0;
	size_t size;

	for (;;) {
		int rc = nb_ringbuf_peek(t->ref.object, &at, &pos, d->value, NB_MAP_RECORD, &size);

		if (rc == -EAGAIN)
			return;
		if (given++ == d->limit || !nb_cmd_room(j)) {
			d->more = true;
			return;
		}
		put_record(j, pos, d->value, rc ? 0 : size);
	}
}

/*
 * List the elements of a map. Elements that are deleted meanwhile are skipped.
 * The loop ends even if programs keep adding elements, as nb_map_next promises
 * and a limit on the steps ensures.
 */
static void dump_entries(struct nb_json *j, const struct nb_map_target *t, struct dump *d)
{
	uint64_t steps = 2ull * t->ref.spec->max_entries + 16, given = 0;

	while (steps-- && !nb_map_next(t->ref.object, d->have_key ? d->key : NULL, d->next)) {
		if (given == d->limit || !nb_cmd_room(j)) {
			d->more = true;
			return;
		}
		memcpy(d->key, d->next, t->ref.spec->key_size);
		d->have_key = true;
		if (nb_map_read(t->ref.object, d->key, d->value, NULL))
			continue;
		nb_json_obj(j);
		put_entry(j, t, d->key, d->value);
		nb_json_end_obj(j);
		given++;
	}
}

static void put_positions(struct nb_json *j, const struct nb_map_target *t)
{
	if (nb_map_target_keys(t) != NB_KEYS_RING)
		return;
	nb_json_ku64(j, "consumed", nb_ringbuf_query(t->ref.object, NB_RB_CONS_POS));
	nb_json_ku64(j, "produced", nb_ringbuf_query(t->ref.object, NB_RB_PROD_POS));
}

int nb_cmd_map_dump(struct nb_call *call)
{
	static void (*const dumps[])(struct nb_json *, const struct nb_map_target *,
				     struct dump *) = {
		[NB_KEYS_INDEX] = dump_entries,
		[NB_KEYS_BYTES] = dump_entries,
		[NB_KEYS_RING] = dump_records,
	};
	struct dump d = { .key = NULL };
	struct nb_json *j = call->out;
	struct nb_map_target t;
	int rc = nb_map_target_take(call, &t);

	if (rc)
		return rc;
	rc = dump_options(call, &t, &d);
	if (!rc) {
		nb_map_members(j, &t.ref);
		put_positions(j, &t);
		nb_json_karr(j, "entries");
		dumps[nb_map_target_keys(&t)](j, &t, &d);
		nb_json_end_arr(j);
		nb_json_kbool(j, "more", d.more);
		nb_json_key(j, "next");
		if (d.more && nb_map_target_keys(&t) != NB_KEYS_RING)
			nb_json_hex(j, d.key, t.ref.spec->key_size);
		else
			nb_json_null(j);
	}
	free(d.key);
	nb_map_target_drop(&t);
	return rc;
}

/* Get one of several keys. If the element is absent, its value is null. */
static int get_one(struct nb_json *j, const struct nb_map_target *t, const char *text, unsigned i,
		   unsigned char *key, struct nb_err *err)
{
	size_t size = t->ref.spec->key_size;
	char what[24];
	int rc;

	snprintf(what, sizeof(what), "KEY %u", i);
	rc = nb_wire_hex(key, size, text, what, err);
	if (rc)
		return rc;
	rc = nb_map_read(t->ref.object, key, key + size, err);
	if (rc && rc != NB_E_NOKEY)
		return rc;
	nb_json_obj(j);
	nb_json_khex(j, "key", key, size);
	nb_json_key(j, "value");
	if (rc)
		nb_json_null(j);
	else
		nb_json_hex(j, key + size, nb_map_target_value_size(t));
	nb_json_end_obj(j);
	return 0;
}

/* Get as many keys as fit into a reply. "left" is the number of the others. */
static int get_several(struct nb_call *call, const struct nb_map_target *t, unsigned char *key)
{
	struct nb_json *j = call->out;
	unsigned i = 1;
	int rc = 0;

	nb_map_members(j, &t->ref);
	nb_json_karr(j, "entries");
	for (; i < call->req->narg && !rc && nb_cmd_room(j); i++)
		rc = get_one(j, t, call->req->arg[i], i, key, call->err);
	nb_json_end_arr(j);
	nb_json_ku64(j, "left", call->req->narg - i);
	return rc;
}

static int get_element(struct nb_call *call, const struct nb_map_target *t, unsigned char *key)
{
	size_t size = t->ref.spec->key_size;
	struct nb_json *j = call->out;
	int rc = nb_wire_hex(key, size, call->req->arg[1], "KEY", call->err);

	if (!rc)
		rc = nb_map_read(t->ref.object, key, key + size, call->err);
	if (rc)
		return rc;
	nb_map_members(j, &t->ref);
	put_entry(j, t, key, key + size);
	return 0;
}

int nb_cmd_map_get(struct nb_call *call)
{
	struct nb_map_target t;
	unsigned char *key;
	int rc = nb_map_target_take(call, &t);

	if (rc)
		return rc;
	key = calloc(1, t.ref.spec->key_size + nb_map_target_value_size(&t) + 1);
	if (!key)
		rc = nb_fail(call->err, NB_E_NOMEM, 0, "map get: no memory");
	if (!rc)
		rc = nb_map_target_fits(&t, call->err);
	if (!rc)
		rc = call->req->narg > 2 ? get_several(call, &t, key) : get_element(call, &t, key);
	free(key);
	nb_map_target_drop(&t);
	return rc;
}
