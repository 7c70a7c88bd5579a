// SPDX-License-Identifier: MIT
/*
 * map pop: takes the next values out of queues and stacks, and records out of
 * ring buffers. They are in the reply and nowhere else. With follow=yes it
 * takes new ones as they come. If the client is slow they stay in the ring,
 * which counts records for which it has no room.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/map/ringbuf.h"
#include "plugin/control/commands/map.h"
#include "plugin/control/connection.h"

/* The elements of one reply. A record's bytes beyond NB_MAP_RECORD are left
 * out. */
enum { POP_MOST = 1 << 16, POP_DEFAULT = 1, POP_BATCH = 256 };

struct pop {
	struct nb_map_target t;
	unsigned char *value;
	uint64_t taken;	  /* elements taken so far; numbers the values */
	uint64_t dropped; /* said so far */
};

static bool is_ring(const struct pop *p)
{
	return nb_map_target_keys(&p->t) == NB_KEYS_RING;
}

/* ---- one value, one record ---- */

/* 1: taken and written; 0: the map is empty; or an error. */
static int take_value(struct pop *p, struct nb_json *j, struct nb_err *err)
{
	struct nb_err why = { .code = 0 };
	int rc = nb_map_take(p->t.object, p->value, &why);

	if (rc == NB_E_NOKEY)
		return 0;
	if (rc) {
		*err = why;
		return rc;
	}
	nb_map_numbered(j, p->taken++, 4, p->value,
			nb_map_target_value_size(&p->t));
	return 1;
}

/* A record larger than the buffer: read all of it, to advance the ring. */
static int take_large(struct pop *p, size_t size, size_t *got,
		      struct nb_err *err)
{
	unsigned char *all = malloc(size);
	int rc;

	if (!all)
		return nb_fail(err, NB_E_NOMEM, 0,
			       "map pop: no memory for a record of %zu bytes",
			       size);
	rc = nb_ringbuf_read(p->t.object, all, size, got);
	if (!rc)
		memcpy(p->value, all, NB_MAP_RECORD);
	free(all);
	return rc ? 0 : 1;
}

static int take_record(struct pop *p, struct nb_json *j, struct nb_err *err)
{
	uint64_t at = 0, pos = 0;
	size_t size = 0, shown;
	int rc = nb_ringbuf_peek(p->t.object, &at, &pos, p->value,
				 NB_MAP_RECORD, &size);

	if (rc == -EAGAIN)
		return 0;
	rc = nb_ringbuf_read(p->t.object, p->value, NB_MAP_RECORD, &size);
	rc = rc == -ENOSPC ? take_large(p, size, &size, err) : !rc;
	if (rc <= 0)
		return rc;
	shown = size < NB_MAP_RECORD ? size : NB_MAP_RECORD;
	p->taken++;
	nb_json_obj(j);
	nb_json_khex(j, "key", &pos, 8);
	nb_json_khex(j, "value", p->value, shown);
	nb_json_ku64(j, "size", size);
	nb_json_end_obj(j);
	return 1;
}

/* "entries", "dropped" of an open object. The number taken, or an error. */
static int take_elements(struct pop *p, struct nb_json *j, uint64_t most,
			 struct nb_err *err)
{
	uint64_t n = 0;
	int rc = 0;

	nb_json_karr(j, "entries");
	for (; n < most && nb_cmd_room(j); n++) {
		rc = is_ring(p) ? take_record(p, j, err)
				: take_value(p, j, err);
		if (rc != 1)
			break;
	}
	nb_json_end_arr(j);
	p->dropped = is_ring(p) ? nb_ringbuf_dropped(p->t.object) : 0;
	nb_json_ku64(j, "dropped", p->dropped);
	/* send the elements taken so far, also after an error */
	return n || rc > 0 ? (int)n : rc;
}

static void pop_free(void *state)
{
	struct pop *p = state;

	if (!p)
		return;
	nb_map_target_drop(&p->t);
	free(p->value);
	free(p);
}

/* Does the map have values to pop, and does one fit into a reply? */
static int check_kind(const struct nb_map_target *t, struct nb_err *err)
{
	uint32_t type = t->spec->type;

	if (type == NB_MAP_RINGBUF || type == NB_MAP_QUEUE ||
	    type == NB_MAP_STACK)
		return nb_map_target_fits(t, err);
	nb_fail(err, NB_E_NOTSUP, 1,
		"map pop: map %s is of type %s; values are taken out of "
		"queues, stacks and ring buffers",
		t->name, nb_spec_map_type(type)->word);
	return nb_hint(err, "map remove removes elements by key");
}

/* NULL: the call's error says why. */
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
		pop_free(p);
		return NULL;
	}
	p->value = malloc(nb_map_target_value_size(&p->t) + NB_MAP_RECORD);
	if (p->value)
		return p;
	nb_fail(call->err, NB_E_NOMEM, 0, "map pop: no memory");
	pop_free(p);
	return NULL;
}

static int poll_pop(void *state, struct nb_json *out, struct nb_err *err)
{
	struct pop *p = state;
	uint64_t dropped = p->dropped;
	int rc;

	rc = take_elements(p, out, POP_BATCH, err);
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
	if (follow &&
	    nb_conn_follow(call->conn, req, poll_pop, p, pop_free, call->err)) {
		pop_free(p);
		return call->err->code;
	}
	nb_map_target_members(call->out, &p->t);
	rc = take_elements(p, call->out, most, call->err);
	/* the stream exists already: its next turn tries again, and ends it if
	 * that fails too */
	if (follow && rc < 0) {
		*call->err = (struct nb_err){ .code = 0 };
		rc = 0;
	}
	snprintf(call->note, sizeof(call->note), "%d taken of %.100s",
		 rc < 0 ? 0 : rc, p->t.name);
	if (!follow)
		pop_free(p);
	return rc < 0 ? rc : 0;
}
