// SPDX-License-Identifier: MIT
/*
 * Handlers of map set|del|load, which change elements. All elements are read
 * and checked before the first one is changed. Local maps are written at once,
 * element by element. Coherent maps are written by a change, all elements or
 * none, so all ranks see the same content at the same decision.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/change/change.h"
#include "plugin/change/stage.h"
#include "plugin/control/commands/map.h"
#include "plugin/control/sealed.h"

/* The operations of a request. They point into the request's bytes. */
struct ops {
	struct nb_map_op *op;
	unsigned char *bytes;
	uint32_t n;
};

/*
 * Refuse a map of read-only data, because programs were verified with its
 * bytes.
 */
static int map_set_check_writable(const struct nb_map_target *t, struct nb_err *err)
{
	if (t->ref.spec->tags & NB_MAPF_HOST)
		return nb_fail(err, NB_E_READONLY, 1,
			       "map %s is a host map: only its writer on the host changes it",
			       t->name);
	if (t->ref.spec->tags & NB_MAPF_REPLICATED)
		return nb_fail(
			err, NB_E_READONLY, 1,
			"map %s is replicated: only programs on profiler/coll_api change it, "
			"on all ranks alike",
			t->name);
	if (t->ref.spec->origin != NB_ORIGIN_RODATA)
		return 0;
	return nb_fail(
		err, NB_E_READONLY, 1,
		"map %s cannot be written: it holds constants with which programs were verified",
		t->name);
}

static uint64_t update_flags(const struct nb_request *req)
{
	const char *word = nb_request_opt(req, "flags");

	if (!word || !strcmp(word, "any"))
		return NB_ANY;
	return !strcmp(word, "new") ? NB_NOEXIST : NB_EXIST;
}

static int make_ops(struct ops *ops, uint32_t n, size_t bytes, struct nb_err *err)
{
	ops->n = n;
	ops->op = calloc(n, sizeof(*ops->op));
	ops->bytes = malloc(bytes + 1);
	if (ops->op && ops->bytes)
		return 0;
	return nb_fail(err, NB_E_NOMEM, 0, "no memory for %u elements", n);
}

static int parse_set(struct nb_call *call, const struct nb_map_target *t, struct ops *ops)
{
	const struct nb_request *req = call->req;
	size_t key = t->ref.spec->key_size, value = nb_map_target_value_size(t);
	uint32_t n = (req->narg - 1) / 2;
	unsigned char *at;
	char what[24];
	int rc;

	if (req->narg % 2 == 0)
		return nb_fail(call->err, NB_E_USAGE, req->narg,
			       "map set %s: the last KEY has no VALUE", t->name);
	rc = make_ops(ops, n, n * (key + value), call->err);
	at = ops->bytes;
	for (uint32_t i = 0; i < n && !rc; i++, at += key + value) {
		ops->op[i] = (struct nb_map_op){ .flags = update_flags(req),
						 .key = at,
						 .value = at + key };
		snprintf(what, sizeof(what), "KEY %u", i + 1);
		rc = nb_wire_hex(at, key, req->arg[1 + 2 * i], what, call->err);
		snprintf(what, sizeof(what), "VALUE %u", i + 1);
		if (!rc)
			rc = nb_wire_hex(at + key, value, req->arg[2 + 2 * i], what, call->err);
	}
	return rc;
}

static int parse_del(struct nb_call *call, const struct nb_map_target *t, struct ops *ops)
{
	const struct nb_request *req = call->req;
	size_t key = t->ref.spec->key_size;
	uint32_t n = req->narg - 1;
	char what[24];
	int rc = make_ops(ops, n, n * key, call->err);

	for (uint32_t i = 0; i < n && !rc; i++) {
		unsigned char *at = ops->bytes + i * key;

		ops->op[i] = (struct nb_map_op){ .erase = true, .key = at };
		snprintf(what, sizeof(what), "KEY %u", i + 1);
		rc = nb_wire_hex(at, key, req->arg[1 + i], what, call->err);
	}
	return rc;
}

/*
 * Parse the record at *@at and advance *@at. A record is a byte (0: store, 1:
 * remove), the key, and for a store the value.
 */
static int map_set_read(const struct nb_map_target *t, const struct ops *ops, size_t size,
			size_t *at, struct nb_map_op *op, struct nb_err *err)
{
	size_t key = t->ref.spec->key_size, value = nb_map_target_value_size(t);
	unsigned char how = ops->bytes[*at];
	size_t all = 1 + key + (how == 0 ? value : 0);

	if (how > 1)
		return nb_fail(err, NB_E_FORMAT, (uint32_t)*at,
			       "map load: element %u begins with byte %u; 0 stores, 1 removes",
			       ops->n + 1, how);
	if (size - *at < all)
		return nb_fail(err, NB_E_FORMAT, (uint32_t)*at,
			       "map load: element %u has %zu bytes, %zu needed", ops->n + 1,
			       size - *at, all);
	*op = (struct nb_map_op){ .erase = how == 1, .key = ops->bytes + *at + 1 };
	if (!how)
		op->value = ops->bytes + *at + 1 + key;
	*at += all;
	return 0;
}

/*
 * Most operations in one load, because an operation takes more memory than its
 * bytes in the file.
 */
enum { LOAD_MOST = 1 << 20 };

/* Allocate room for one operation more than @size bytes can encode. */
static int make_load_ops(const struct nb_map_target *t, struct ops *ops, size_t size,
			 struct nb_err *err)
{
	size_t key = t->ref.spec->key_size, most;

	if (nb_map_target_keys(t) == NB_KEYS_RING) {
		nb_fail(err, NB_E_NOTSUP, 1, "map load: map %s takes records from programs only",
			t->name);
		return NB_E_NOTSUP;
	}
	most = size / (1 + key);
	if (most > LOAD_MOST)
		most = LOAD_MOST;
	ops->op = calloc(most + 1, sizeof(*ops->op));
	if (ops->op)
		return 0;
	nb_fail(err, NB_E_NOMEM, 0, "map load: no memory");
	return NB_E_NOMEM;
}

static int parse_load(struct nb_call *call, const struct nb_map_target *t, struct ops *ops)
{
	size_t size, at = 0;
	void *bytes;
	int rc = nb_sealed_take(call, "the elements", &bytes, &size);

	ops->bytes = bytes;
	if (!rc)
		rc = make_load_ops(t, ops, size, call->err);
	while (!rc && at < size) {
		struct nb_map_op *op = &ops->op[ops->n];

		if (ops->n == LOAD_MOST)
			return nb_fail(call->err, NB_E_LIMIT, (uint32_t)at,
				       "map load: more than %d elements; load them in parts",
				       LOAD_MOST);
		rc = map_set_read(t, ops, size, &at, op, call->err);
		if (!rc && !op->erase)
			op->flags = update_flags(call->req);
		ops->n += !rc;
	}
	return rc;
}

/*
 * Fail with the number of element @at (from 1). The elements before it are
 * stored.
 */
static int fail_local(struct nb_call *call, const struct ops *ops, uint32_t at)
{
	struct nb_err *err = call->err;

	err->at = at;
	if (ops->n == 1)
		return err->code;
	return nb_hint(err,
		       "the %u elements before it are stored; "
		       "this element and the %u after it are not, "
		       "because a local map changes element by element",
		       at - 1, ops->n - at);
}

/*
 * Write the reply to a request for @n elements. @what: what the log calls them
 */
static void reply_local(struct nb_call *call, const struct nb_map_target *t, size_t n,
			const char *what, uint32_t changed)
{
	struct nb_json *j = call->out;

	snprintf(call->note, sizeof(call->note), "%zu %s of %.100s%s", n, what, t->name,
		 changed ? "" : ", checked");
	nb_json_kstr(j, "map", t->ref.spec->name);
	nb_json_kstr(j, "policy", t->ref.policy->img->name);
	nb_json_ku64(j, "changed", changed);
}

/*
 * Returns the map to write in *@to. With commit=no it is a copy, *@copy, which
 * makes the same checks and is dropped later.
 */
static int written_map(struct nb_call *call, const struct nb_map_target *t, struct nb_map **copy,
		       struct nb_map **to)
{
	*copy = NULL;
	*to = t->ref.object;
	if (nb_request_yes(call->req, "commit", true))
		return 0;
	if (nb_map_target_keys(t) == NB_KEYS_RING)
		return nb_fail(call->err, NB_E_NOTSUP, 1, "map %s takes records from programs only",
			       t->name);
	if (nb_map_clone(copy, t->ref.object, call->err))
		return call->err->code;
	*to = *copy;
	return 0;
}

static int map_set_apply(struct nb_call *call, struct nb_map *to, const struct ops *ops)
{
	struct nb_err *err = call->err;

	for (uint32_t i = 0; i < ops->n; i++) {
		const struct nb_map_op *o = &ops->op[i];

		if (o->erase ? nb_map_erase(to, o->key, err)
			     : nb_map_write(to, o->key, o->value, o->flags, err))
			return fail_local(call, ops, i + 1);
	}
	return 0;
}

/* Change a local map, element by element in order, until one fails. */
static int apply_local(struct nb_call *call, const struct nb_map_target *t, const struct ops *ops)
{
	struct nb_map *copy, *to;
	int rc;

	if (nb_request_opt(call->req, "if_generation"))
		return nb_fail(call->err, NB_E_USAGE, 0,
			       "%s: map %s is local and changes at once; "
			       "if_generation= is for coherent maps",
			       call->req->spec->words, t->name);
	rc = written_map(call, t, &copy, &to);
	if (!rc)
		rc = map_set_apply(call, to, ops);
	if (!rc)
		reply_local(call, t, ops->n, "elements", copy ? 0 : ops->n);
	nb_map_put(copy);
	return rc;
}

static int apply_coherent(struct nb_call *call, const struct ops *ops)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err *err = call->err;
	int rc = nb_change_stage_map(call->req->arg[0], ops->op, ops->n, digest, err);

	if (!rc)
		return nb_cmd_finish_change(call, digest);
	if (err->at && ops->n > 1)
		nb_hint(err, "none of the %u elements is stored: a coherent map changes as a whole",
			ops->n);
	return rc;
}

typedef int parse_fn(struct nb_call *call, const struct nb_map_target *t, struct ops *ops);

static int change_map(struct nb_call *call, parse_fn *parse)
{
	struct ops ops = { .n = 0 };
	struct nb_map_target t;
	int rc = nb_map_target_take(call, &t);

	if (rc)
		return rc;
	rc = map_set_check_writable(&t, call->err);
	if (!rc)
		rc = parse(call, &t, &ops);
	if (!rc)
		rc = t.ref.coherent ? apply_coherent(call, &ops) : apply_local(call, &t, &ops);
	free(ops.op);
	free(ops.bytes);
	nb_map_target_drop(&t);
	return rc;
}

static int store_part(struct nb_call *call, const struct nb_map_target *t, unsigned char *bytes)
{
	const struct nb_request *req = call->req;
	size_t key = t->ref.spec->key_size, size = strlen(req->arg[2]) / 2;
	struct nb_map *copy, *to;
	uint64_t at;
	int rc = nb_cmd_number(call, "at", 0, UINT32_MAX, &at);

	if (!rc)
		rc = nb_wire_hex(bytes, key, req->arg[1], "KEY", call->err);
	if (!rc)
		rc = nb_wire_hex(bytes + key, size, req->arg[2], "VALUE", call->err);
	if (!rc)
		rc = written_map(call, t, &copy, &to);
	if (rc)
		return rc;
	rc = nb_map_write_part(to, bytes, (uint32_t)at, (uint32_t)size, bytes + key, call->err);
	if (!rc)
		reply_local(call, t, size, "bytes", copy ? 0 : 1);
	nb_map_put(copy);
	return rc;
}

static int set_part(struct nb_call *call)
{
	struct nb_map_target t;
	unsigned char *bytes;
	int rc = nb_map_target_take(call, &t);

	if (rc)
		return rc;
	rc = map_set_check_writable(&t, call->err);
	if (!rc && (call->req->narg != 3 || t.ref.coherent))
		rc = nb_fail(call->err, NB_E_USAGE, 0,
			     "map set %s at=: allowed for one KEY and VALUE of a local array; "
			     "a coherent map takes whole values",
			     t.name);
	if (!rc && nb_request_opt(call->req, "if_generation"))
		rc = nb_fail(call->err, NB_E_USAGE, 0,
			     "map set %s at=: a local map has no generation; "
			     "if_generation= is for coherent maps",
			     t.name);
	bytes = malloc(t.ref.spec->key_size + strlen(call->req->arg[2]) + 1);
	if (!bytes && !rc)
		rc = nb_fail(call->err, NB_E_NOMEM, 0, "map set: no memory");
	if (!rc)
		rc = store_part(call, &t, bytes);
	free(bytes);
	nb_map_target_drop(&t);
	return rc;
}

int nb_cmd_map_set(struct nb_call *call)
{
	return nb_request_opt(call->req, "at") ? set_part(call) : change_map(call, parse_set);
}

int nb_cmd_map_remove(struct nb_call *call)
{
	return change_map(call, parse_del);
}

int nb_cmd_map_load(struct nb_call *call)
{
	return change_map(call, parse_load);
}
