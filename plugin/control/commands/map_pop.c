// SPDX-License-Identifier: MIT
/*
 * Handler of map pop, which removes the next records from a ring buffer. After
 * the removal only the reply contains them. With follow=yes it also removes new
 * ones as they arrive. If the client is slow, they stay in the ring, and the
 * ring counts the records for which it has no room.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/map/ringbuf.h"
#include "plugin/control/commands/map.h"
#include "plugin/control/connection.h"

/*
 * Limits of the records in one reply. Bytes of a record beyond NB_MAP_RECORD
 * are omitted.
 */
enum { POP_MOST = 1 << 16, POP_DEFAULT = 1, POP_BATCH = 256 };

struct pop {
	struct nb_map_target t;
	unsigned char *value;
	uint64_t dropped; /* number of dropped records that was last reported */
};

/*
 * Read a record that is larger than the buffer completely, so that the ring
 * advances.
 */
static int take_large(struct pop *p, size_t size, size_t *got, struct nb_err *err)
{
	unsigned char *all = malloc(size);
	int rc;

	if (!all)
		return nb_fail(err, NB_E_NOMEM, 0, "map pop: no memory for a record of %zu bytes",
			       size);
	rc = nb_ringbuf_read(p->t.ref.object, all, size, got);
	if (!rc)
		memcpy(p->value, all, NB_MAP_RECORD);
	free(all);
	return rc ? 0 : 1;
}

/*
 * Remove and write one record. Returns 1, 0 if the ring is empty, or an error.
 */
static int take_record(struct pop *p, struct nb_json *j, struct nb_err *err)
{
	uint64_t at = 0, pos = 0;
	size_t size = 0, shown;
	int rc = nb_ringbuf_peek(p->t.ref.object, &at, &pos, p->value, NB_MAP_RECORD, &size);

	if (rc == -EAGAIN)
		return 0;
	rc = nb_ringbuf_read(p->t.ref.object, p->value, NB_MAP_RECORD, &size);
	rc = rc == -ENOSPC ? take_large(p, size, &size, err) : !rc;
	if (rc <= 0)
		return rc;
	shown = size < NB_MAP_RECORD ? size : NB_MAP_RECORD;
	nb_json_obj(j);
	nb_json_khex(j, "key", &pos, 8);
	nb_json_khex(j, "value", p->value, shown);
	nb_json_ku64(j, "size", size);
	nb_json_end_obj(j);
	return 1;
}

/*
 * Write "entries" and "dropped" of an open object. Returns the number of
 * records removed, or an error.
 */
static int take_records(struct pop *p, struct nb_json *j, uint64_t most, struct nb_err *err)
{
	uint64_t n = 0;
	int rc = 0;

	nb_json_karr(j, "entries");
	for (; n < most && nb_cmd_room(j); n++) {
		rc = take_record(p, j, err);
		if (rc != 1)
			break;
	}
	nb_json_end_arr(j);
	p->dropped = nb_ringbuf_dropped(p->t.ref.object);
	nb_json_ku64(j, "dropped", p->dropped);
	/*
	 * an error must not lose the records removed before it, so report them
	 */
	return n || rc > 0 ? (int)n : rc;
}

static void map_pop_free(void *state)
{
	struct pop *p = state;

	if (!p)
		return;
	nb_map_target_drop(&p->t);
	free(p->value);
	free(p);
}

static int check_kind(const struct nb_map_target *t, struct nb_err *err)
{
	uint32_t type = t->ref.spec->type;

	if (type == NB_MAP_RINGBUF)
		return 0;
	nb_fail(err, NB_E_NOTSUP, 1, "map pop: map %s is of type %s (allowed: ring buffers)",
		t->name, nb_spec_map_type(type)->word);
	return nb_hint(err, "map remove removes elements by key");
}

/*
 * Returns the state of a pop. On failure it returns NULL and call->err holds
 * the reason.
 */
static struct pop *pop_new(struct nb_call *call)
{
	struct pop *p = calloc(1, sizeof(*p));

	if (!p) {
		nb_fail(call->err, NB_E_NOMEM, 0, "map pop: no memory");
		return NULL;
	}
	if (nb_map_target_take(call, &p->t)) {
		free(p);
		return NULL;
	}
	if (check_kind(&p->t, call->err)) {
		map_pop_free(p);
		return NULL;
	}
	p->value = malloc(NB_MAP_RECORD);
	if (p->value)
		return p;
	nb_fail(call->err, NB_E_NOMEM, 0, "map pop: no memory");
	map_pop_free(p);
	return NULL;
}

static int poll_pop(void *state, struct nb_json *out, struct nb_err *err)
{
	struct pop *p = state;
	uint64_t dropped = p->dropped;
	int rc;

	rc = take_records(p, out, POP_BATCH, err);
	return rc < 0 ? rc : rc > 0 || p->dropped != dropped;
}

int nb_cmd_map_pop(struct nb_call *call)
{
	const struct nb_request *req = call->req;
	bool follow = nb_request_yes(req, "follow", false);
	uint64_t most = follow ? POP_BATCH : POP_DEFAULT;
	struct pop *p;
	int rc;

	if (nb_cmd_number(call, "count", 1, POP_MOST, &most))
		return call->err->code;
	p = pop_new(call);
	if (!p)
		return call->err->code;
	if (follow && nb_conn_follow(call->conn, req, poll_pop, p, map_pop_free, call->err)) {
		map_pop_free(p);
		return call->err->code;
	}
	nb_map_members(call->out, &p->t.ref);
	rc = take_records(p, call->out, most, call->err);
	/*
	 * The stream exists already. Its next poll tries again, and ends the
	 * stream if it fails too.
	 */
	if (follow && rc < 0) {
		*call->err = (struct nb_err){ .code = 0 };
		rc = 0;
	}
	snprintf(call->note, sizeof(call->note), "%d taken of %.100s", rc < 0 ? 0 : rc, p->t.name);
	if (!follow)
		map_pop_free(p);
	return rc < 0 ? rc : 0;
}
