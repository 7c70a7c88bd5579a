// SPDX-License-Identifier: MIT
/*
 * Handlers of change status|check|commit|abort, which finish a change that was
 * staged in several processes, and of change export|import, which give a
 * process the generation of another one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/image/image.h"
#include "core/job/wire/object.h"
#include "plugin/change/change.h"
#include "plugin/change/sync.h"
#include "plugin/change/stage.h"
#include "plugin/change/state.h"
#include "plugin/control/reply.h"
#include "plugin/control/sealed.h"
#include "plugin/runtime/digest.h"

int nb_cmd_change_status(struct nb_call *call)
{
	struct nb_change *last = calloc(1, sizeof(*last));
	uint8_t staged[NB_SHA256_SIZE] = { 0 };
	bool has_staged, has_last;

	if (!last)
		return nb_fail(call->err, NB_E_NOMEM, 0, "change status: no memory");
	nb_change_status(&has_staged, staged, &has_last, last);
	if (has_staged)
		nb_cmd_digest(call->out, "staged", staged);
	else
		nb_json_knull(call->out, "staged");
	if (has_last) {
		nb_json_kobj(call->out, "last");
		nb_cmd_change(call->out, last);
		nb_json_end_obj(call->out);
	} else {
		nb_json_knull(call->out, "last");
	}
	free(last);
	return 0;
}

typedef int change_fn(const uint8_t digest[NB_SHA256_SIZE], uint64_t expected,
		      struct nb_change *out, struct nb_err *err);

/* maker=controllers: no client asked for the change. */
static void note_maker(const struct nb_call *call, const char *text)
{
	if (text && !strcmp(text, "controllers"))
		nb_change_by_nobody();
	else
		nb_change_by((uint32_t)call->peer->uid, (uint32_t)call->peer->pid, text);
}

static int run_change(struct nb_call *call, change_fn *run)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_change *change;
	uint64_t expected, fleet = 0;
	int rc = nb_digest_parse(digest, call->req->arg[0], call->err);

	if (!rc)
		rc = nb_cmd_expected(call, &expected);
	if (!rc)
		rc = nb_cmd_number(call, "fleet", 1, INT64_MAX, &fleet);
	if (rc)
		return rc;
	note_maker(call, nb_request_opt(call->req, "maker"));
	change = calloc(1, sizeof(*change));
	if (!change)
		return nb_fail(call->err, NB_E_NOMEM, 0, "%s: no memory", call->req->spec->words);
	nb_change_of_fleet(fleet);
	rc = run(digest, expected, change, call->err);
	nb_change_of_fleet(0);
	if (!rc) {
		snprintf(call->note, sizeof(call->note), "generation %llu",
			 (unsigned long long)change->shown);
		nb_cmd_change(call->out, change);
	}
	free(change);
	return rc;
}

int nb_cmd_change_commit(struct nb_call *call)
{
	return run_change(call, nb_change_commit);
}

int nb_cmd_change_check(struct nb_call *call)
{
	return run_change(call, nb_change_check);
}

int nb_cmd_change_abort(struct nb_call *call)
{
	uint8_t digest[NB_SHA256_SIZE];
	int rc = nb_digest_parse(digest, call->req->arg[0], call->err);

	if (!rc)
		rc = nb_change_abort(digest, call->err);
	if (rc)
		return rc;
	nb_cmd_change_short(call->out, digest, NB_CHANGE_ABORTED);
	return 0;
}

/* Write the names and digests of the generation's policies. */
static void put_policies(struct nb_json *j, const struct nb_gen *g)
{
	nb_json_karr(j, "policies");
	for (uint32_t i = 0; i < g->npolicies; i++) {
		const struct nb_image *img = g->policy[i].policy->img;

		nb_json_obj(j);
		nb_json_kstr(j, "name", img->name);
		nb_cmd_digest(j, "digest", img->digest);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

int nb_cmd_change_export(struct nb_call *call)
{
	struct nb_gen *g;
	struct nb_buf bytes;
	int rc;

	nb_buf_init(&bytes, NB_IMAGE_MAX_SIZE);
	rc = nb_change_export(&bytes, &g, call->err);
	if (!rc)
		call->fd_out = nb_wire_object_file(bytes.data, bytes.size);
	if (!rc && call->fd_out < 0)
		rc = nb_fail(call->err, NB_E_IO, 0, "memory file for a generation: %s",
			     strerror(errno));
	if (!rc) {
		nb_cmd_digest(call->out, "change", g->digest);
		put_policies(call->out, g);
	}
	nb_buf_fini(&bytes);
	nb_gen_put(g);
	return rc;
}

int nb_cmd_change_import(struct nb_call *call)
{
	uint8_t digest[NB_SHA256_SIZE];
	size_t size;
	void *bytes;
	int rc = nb_sealed_take(call, "the generation", &bytes, &size);

	if (!rc)
		rc = nb_change_import(bytes, size, digest, call->err);
	free(bytes);
	return rc ? rc : nb_cmd_finish_change(call, digest);
}
