// SPDX-License-Identifier: MIT
// map list|show|dump|get|set|del. Keys and values are hexadecimal bytes of
// exactly the map's sizes. Local maps are written at once; coherent ones only
// by a change, so that all ranks see the same content at the same decision.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/map/ringbuf.h"
#include "plugin/cmd.h"

enum { DUMP_DEFAULT = 1024, DUMP_MOST = 1 << 20, RECORD_MOST = 32 << 10 };

/* A map looked up, with a reference, so that work needs no lock. */
struct target {
	struct nb_policy *policy;
	const struct nb_map_spec *spec; /* of the policy */
	struct nb_map *object;		/* NULL: coherent and not in use */
	bool coherent, in_use;
	char name[2 * NB_IMAGE_NAME]; /* "policy/map" */
};

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
	case NB_ORIGIN_INNER:
		return "inner";
	}
	return "unknown";
}

/* Members of one map; the object is open. @object may be NULL. */
static void members(struct nb_json *j, const struct nb_policy *p,
		    const struct nb_map_spec *s, const struct nb_map *object,
		    bool coherent, bool in_use)
{
	const struct nb_map_type_spec *type = nb_spec_map_type(s->type);

	nb_json_kstr(j, "map", s->name);
	nb_json_kstr(j, "policy", p->img->name);
	nb_cmd_digest(j, "policy_digest", p->img->digest);
	nb_json_kstr(j, "type", type ? type->word : NULL);
	nb_json_ku64(j, "key_size", s->key_size);
	nb_json_ku64(j, "value_size", s->value_size);
	nb_json_ku64(j, "max_entries", s->max_entries);
	nb_json_ku64(j, "flags", s->flags);
	nb_json_kbool(j, "coherent", coherent);
	nb_json_kbool(j, "shared", (s->tags & NB_MAPF_SHARED) != 0);
	nb_json_kstr(j, "origin", origin_word(s->origin));
	nb_json_kbool(j, "in_use", in_use);
	nb_json_key(j, "count");
	if (object)
		nb_json_u64(j, nb_map_count(object));
	else
		nb_json_null(j);
	nb_json_ku64(j, "memory_bytes", object ? nb_map_memory(object) : 0);
	nb_json_ku64(j, "btf_key", s->btf_key);
	nb_json_ku64(j, "btf_value", s->btf_value);
}

/* ---- map list, map show ---- */

static void list_policy(struct nb_json *j, struct nb_runtime *rt,
			struct nb_policy *p)
{
	for (uint32_t i = 0; i < p->img->nmaps; i++) {
		struct nb_map_ref r;

		if (p->img->maps[i].origin == NB_ORIGIN_INNER)
			continue;
		nb_runtime_map_ref(rt, p, i, &r);
		nb_json_obj(j);
		members(j, p, r.spec, r.object, r.coherent, r.in_use);
		nb_json_end_obj(j);
	}
}

int nb_cmd_map_list(struct nb_call *call)
{
	struct nb_runtime *rt = call->rt;
	struct nb_json *j = call->out;

	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	nb_json_obj(j);
	nb_json_key(j, "maps");
	nb_json_arr(j);
	for (uint32_t i = 0; rt->baseline && i < rt->baseline->npolicies; i++)
		list_policy(j, rt, rt->baseline->policy[i].policy);
	nb_json_end_arr(j);
	nb_json_end_obj(j);
	nb_runtime_unlock(rt);
	return 0;
}

int nb_cmd_map_show(struct nb_call *call)
{
	struct nb_json *j = call->out;
	struct nb_map_ref r;
	int rc;

	nb_runtime_lock(call->rt);
	rc = nb_runtime_map_find(call->rt, call->req->arg[0], &r, call->err);
	if (!rc) {
		nb_json_obj(j);
		members(j, r.policy, r.spec, r.object, r.coherent, r.in_use);
		nb_json_end_obj(j);
	}
	nb_runtime_unlock(call->rt);
	return rc;
}

/* ---- finding ---- */

static int take(struct nb_call *call, struct target *t)
{
	struct nb_map_ref r;
	int rc;

	*t = (struct target){ .policy = NULL };
	nb_runtime_lock(call->rt);
	rc = nb_runtime_map_find(call->rt, call->req->arg[0], &r, call->err);
	if (!rc) {
		t->policy = nb_policy_get(r.policy);
		t->spec = r.spec;
		t->coherent = r.coherent;
		t->in_use = r.in_use;
		t->object = r.object ? nb_map_get(r.object) : NULL;
		snprintf(t->name, sizeof(t->name), "%s/%s", r.policy->img->name,
			 r.spec->name);
	}
	nb_runtime_unlock(call->rt);
	return rc;
}

static void drop(struct target *t)
{
	nb_map_put(t->object);
	nb_policy_put(t->policy);
}

/* The same, and there is content to look at. */
static int take_content(struct nb_call *call, struct target *t)
{
	int rc = take(call, t);

	if (rc || t->object)
		return rc;
	nb_fail(call->err, NB_E_REFUSED, 1,
		"map %s is coherent and its policy is not in use: it has no "
		"content",
		t->name);
	nb_hint(call->err, "policy use %s", t->policy->img->name);
	drop(t);
	return call->err->code;
}

static size_t value_size(const struct target *t)
{
	return t->object ? nb_map_user_value_size(t->object)
			 : t->spec->value_size;
}

/* ---- map dump, map get ---- */

static enum nb_map_keys keys_of(const struct target *t)
{
	return nb_spec_map_type(t->spec->type)->keys;
}

static void entry(struct nb_json *j, const struct target *t, const void *key,
		  const void *value)
{
	nb_json_khex(j, "key", key, t->spec->key_size);
	nb_json_khex(j, "value", value, value_size(t));
}

/* Two bytes of text for each, and they must fit one reply together. */
static int check_fits(const struct target *t, struct nb_err *err)
{
	size_t size = 2 * (value_size(t) + t->spec->key_size);

	if (size + 4096 <= NB_WIRE_REPLY - NB_CMD_ROOM)
		return 0;
	return nb_fail(err, NB_E_LIMIT, 0,
		       "map %s: an element is %zu bytes for all CPUs, which is "
		       "more than a reply can carry",
		       t->name, value_size(t));
}

struct dump {
	unsigned char *key, *next, *value; /* of one allocation, key first */
	uint64_t limit;
	bool have_key; /* key holds where to go on after */
	bool more;
};

static int dump_options(struct nb_call *call, const struct target *t,
			struct dump *d)
{
	const char *after = nb_request_opt(call->req, "after");
	size_t key = t->spec->key_size;
	int rc = nb_cmd_limit(call, DUMP_MOST, DUMP_DEFAULT, &d->limit);

	if (!rc)
		rc = check_fits(t, call->err);
	if (rc)
		return rc;
	if (keys_of(t) > NB_KEYS_PREFIX && after)
		return nb_fail(call->err, NB_E_USAGE, 0,
			       "map dump: a map of type %s has no keys to go "
			       "on after",
			       nb_spec_map_type(t->spec->type)->word);
	d->key = calloc(1, 2 * key + value_size(t) + RECORD_MOST);
	if (!d->key)
		return nb_fail(call->err, NB_E_NOMEM, 0, "map dump: no memory");
	d->next = d->key + key;
	d->value = d->next + key;
	d->have_key = after != NULL;
	if (after)
		rc = nb_wire_hex(d->key, key, after,
				 "option after=", call->err);
	return rc;
}

static void numbered(struct nb_json *j, uint64_t number, size_t bytes,
		     const void *value, size_t size)
{
	nb_json_obj(j);
	nb_json_khex(j, "key", &number, bytes); /* little-endian */
	nb_json_khex(j, "value", value, size);
	nb_json_end_obj(j);
}

/* Values of a queue or stack, the next one to be taken first; they stay. */
static void dump_values(struct nb_json *j, const struct target *t,
			struct dump *d)
{
	uint32_t i = 0;

	for (; i < d->limit && !nb_map_nth(t->object, i, d->value); i++) {
		if (!nb_cmd_room(j)) {
			d->more = true;
			return;
		}
		numbered(j, i, 4, d->value, value_size(t));
	}
	d->more = i == d->limit && !nb_map_nth(t->object, i, d->value);
}

/* Complete records of a ring buffer, the oldest first; they stay. The key is
 * where a record begins; of one over RECORD_MOST nothing else is shown. */
static void dump_records(struct nb_json *j, const struct target *t,
			 struct dump *d)
{
	uint64_t at = 0, pos, given = 0;
	size_t size;

	for (;;) {
		int rc = nb_ringbuf_peek(t->object, &at, &pos, d->value,
					 RECORD_MOST, &size);

		if (rc == -EAGAIN)
			return;
		if (given++ == d->limit || !nb_cmd_room(j)) {
			d->more = true;
			return;
		}
		numbered(j, pos, 8, d->value, rc ? 0 : size);
	}
}

/*
 * Elements that vanish while we walk are skipped; the walk ends even if
 * programs keep adding (nb_map_next's promise, and the bound on steps).
 */
static void dump_entries(struct nb_json *j, const struct target *t,
			 struct dump *d)
{
	uint64_t steps = 2ull * t->spec->max_entries + 16, given = 0;

	while (steps-- &&
	       !nb_map_next(t->object, d->have_key ? d->key : NULL, d->next)) {
		if (given == d->limit || !nb_cmd_room(j)) {
			d->more = true;
			return;
		}
		memcpy(d->key, d->next, t->spec->key_size);
		d->have_key = true;
		if (nb_map_read(t->object, d->key, d->value, NULL))
			continue;
		nb_json_obj(j);
		entry(j, t, d->key, d->value);
		nb_json_end_obj(j);
		given++;
	}
}

static uint64_t cpus(const struct target *t)
{
	return nb_spec_map_type(t->spec->type)->traits & NB_TRAIT_PERCPU
		       ? nb_ncpus()
		       : 1;
}

static void positions(struct nb_json *j, const struct target *t)
{
	if (keys_of(t) != NB_KEYS_RING)
		return;
	nb_json_ku64(j, "consumed",
		     nb_ringbuf_query(t->object, NB_RB_CONS_POS));
	nb_json_ku64(j, "produced",
		     nb_ringbuf_query(t->object, NB_RB_PROD_POS));
}

int nb_cmd_map_dump(struct nb_call *call)
{
	static void (*const dumps[])(struct nb_json *, const struct target *,
				     struct dump *) = {
		[NB_KEYS_INDEX] = dump_entries,	 [NB_KEYS_BYTES] = dump_entries,
		[NB_KEYS_PREFIX] = dump_entries, [NB_KEYS_NONE] = dump_values,
		[NB_KEYS_RING] = dump_records,
	};
	struct dump d = { .key = NULL };
	struct nb_json *j = call->out;
	struct target t;
	int rc = take_content(call, &t);

	if (rc)
		return rc;
	rc = dump_options(call, &t, &d);
	if (!rc) {
		nb_json_obj(j);
		members(j, t.policy, t.spec, t.object, t.coherent, t.in_use);
		nb_json_ku64(j, "ncpus", cpus(&t));
		positions(j, &t);
		nb_json_key(j, "entries");
		nb_json_arr(j);
		dumps[keys_of(&t)](j, &t, &d);
		nb_json_end_arr(j);
		nb_json_kbool(j, "more", d.more);
		nb_json_key(j, "next");
		if (d.more && keys_of(&t) <= NB_KEYS_PREFIX)
			nb_json_hex(j, d.key, t.spec->key_size);
		else
			nb_json_null(j);
		nb_json_end_obj(j);
	}
	free(d.key);
	drop(&t);
	return rc;
}

static int get(struct nb_call *call, const struct target *t)
{
	struct nb_json *j = call->out;
	size_t size = t->spec->key_size;
	unsigned char *key = calloc(1, size + value_size(t));
	int rc = check_fits(t, call->err);

	if (!key)
		return nb_fail(call->err, NB_E_NOMEM, 0, "map get: no memory");
	if (!rc)
		rc = nb_wire_hex(key, size, call->req->arg[1], "KEY",
				 call->err);
	if (!rc)
		rc = nb_map_read(t->object, key, key + size, call->err);
	if (!rc) {
		nb_json_obj(j);
		members(j, t->policy, t->spec, t->object, t->coherent,
			t->in_use);
		nb_json_ku64(j, "ncpus", cpus(t));
		entry(j, t, key, key + size);
		nb_json_end_obj(j);
	}
	free(key);
	return rc;
}

int nb_cmd_map_get(struct nb_call *call)
{
	struct target t;
	int rc = take_content(call, &t);

	if (rc)
		return rc;
	rc = get(call, &t);
	drop(&t);
	return rc;
}

/* ---- map set, map del ---- */

/* Programs were verified against these bytes: they never change. */
static int check_writable(const struct target *t, struct nb_err *err)
{
	if (t->spec->origin != NB_ORIGIN_RODATA)
		return 0;
	return nb_fail(err, NB_E_READONLY, 1,
		       "map %s holds constants, which programs were verified "
		       "with: it cannot be written",
		       t->name);
}

static uint64_t update_flags(const struct nb_request *req)
{
	const char *word = nb_request_opt(req, "flags");

	if (!word || !strcmp(word, "any"))
		return NB_ANY;
	return !strcmp(word, "new") ? NB_NOEXIST : NB_EXIST;
}

/* The operations of a line: hexadecimal text to bytes, all before any. */
struct ops {
	struct nb_map_op op[NB_WIRE_ARGS / 2];
	unsigned char *bytes;
	uint32_t n;
};

static int parse_set(struct nb_call *call, const struct target *t,
		     struct ops *ops)
{
	const struct nb_request *req = call->req;
	size_t key = t->spec->key_size, value = value_size(t);
	unsigned char *at;
	char what[24];
	int rc = 0;

	if (req->narg % 2 == 0)
		return nb_fail(call->err, NB_E_USAGE, req->narg,
			       "map set %s: the last KEY has no VALUE",
			       t->name);
	ops->n = (req->narg - 1) / 2;
	at = ops->bytes = malloc(ops->n * (key + value));
	if (!at)
		return nb_fail(call->err, NB_E_NOMEM, 0, "map set: no memory");
	for (uint32_t i = 0; i < ops->n && !rc; i++, at += key + value) {
		ops->op[i] = (struct nb_map_op){ .flags = update_flags(req),
						 .key = at,
						 .value = at + key };
		snprintf(what, sizeof(what), "KEY %u", i + 1);
		rc = nb_wire_hex(at, key, req->arg[1 + 2 * i], what, call->err);
		snprintf(what, sizeof(what), "VALUE %u", i + 1);
		if (!rc)
			rc = nb_wire_hex(at + key, value, req->arg[2 + 2 * i],
					 what, call->err);
	}
	return rc;
}

static int parse_del(struct nb_call *call, const struct target *t,
		     struct ops *ops)
{
	ops->n = 1;
	ops->bytes = malloc(t->spec->key_size);
	if (!ops->bytes)
		return nb_fail(call->err, NB_E_NOMEM, 0, "map del: no memory");
	ops->op[0] = (struct nb_map_op){ .erase = true, .key = ops->bytes };
	return nb_wire_hex(ops->bytes, t->spec->key_size, call->req->arg[1],
			   "KEY", call->err);
}

/* A local map changes element by element, in order, until one fails. */
static int apply_local(struct nb_call *call, const struct target *t,
		       const struct ops *ops)
{
	struct nb_json *j = call->out;
	struct nb_err *err = call->err;
	uint32_t i;
	int rc = 0;

	if (nb_request_opt(call->req, "commit")) {
		nb_fail(err, NB_E_USAGE, 0,
			"%s: map %s is local and changes at once; commit= is "
			"for coherent maps",
			call->req->spec->words, t->name);
		return err->code;
	}
	for (i = 0; i < ops->n && !rc; i++) {
		const struct nb_map_op *o = &ops->op[i];

		rc = o->erase ? nb_map_erase(t->object, o->key, err)
			      : nb_map_write(t->object, o->key, o->value,
					     o->flags, err);
	}
	if (rc) {
		err->at = i;
		if (i > 1)
			nb_hint(err, "the %u elements before it are stored",
				i - 1);
		return rc;
	}
	snprintf(call->note, sizeof(call->note), "%u elements of %.100s",
		 ops->n, t->name);
	nb_json_obj(j);
	nb_json_kstr(j, "map", t->spec->name);
	nb_json_kstr(j, "policy", t->policy->img->name);
	nb_json_ku64(j, "changed", ops->n);
	nb_json_end_obj(j);
	return 0;
}

static int apply_coherent(struct nb_call *call, const struct ops *ops)
{
	uint8_t digest[NB_SHA256_SIZE];
	int rc = nb_change_stage_map(call->rt, call->req->arg[0], ops->op,
				     ops->n, digest, call->err);

	return rc ? rc : nb_cmd_finish_change(call, digest);
}

typedef int parse_fn(struct nb_call *call, const struct target *t,
		     struct ops *ops);

static int change(struct nb_call *call, parse_fn *parse)
{
	struct ops ops = { .n = 0 };
	struct target t;
	int rc = take_content(call, &t);

	if (rc)
		return rc;
	rc = check_writable(&t, call->err);
	if (!rc)
		rc = parse(call, &t, &ops);
	if (!rc)
		rc = t.coherent ? apply_coherent(call, &ops)
				: apply_local(call, &t, &ops);
	free(ops.bytes);
	drop(&t);
	return rc;
}

int nb_cmd_map_set(struct nb_call *call)
{
	return change(call, parse_set);
}

int nb_cmd_map_del(struct nb_call *call)
{
	return change(call, parse_del);
}
