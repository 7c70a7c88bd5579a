// SPDX-License-Identifier: MIT
/*
 * Handlers of policy add|remove|move|replace, which change the order of policies by one
 * policy. Each is a change like policy use. Every process of a job computes the
 * new order from the same baseline, so all get the same generation.
 */
#include "plugin/change/change.h"
#include "plugin/change/compose.h"
#include "plugin/change/selector.h"
#include "plugin/change/stage.h"
#include "plugin/control/reply.h"

#include <string.h>

static int stage_edit(struct nb_call *call, const struct nb_edit *edit)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_selector reach;
	int rc = nb_selector_parse(&reach, nb_request_opt(call->req, "comm"), call->err);

	if (!rc)
		rc = nb_change_stage_edit(edit, &reach, digest, call->err);
	return rc ? rc : nb_cmd_finish_change(call, digest);
}

/* Read the options for the policy's new position. At most one may be given. */
static int parse_position(struct nb_call *call, struct nb_edit *edit, bool wanted)
{
	const char *position = nb_request_opt(call->req, "position");

	edit->name = call->req->arg[0];
	edit->before = nb_request_opt(call->req, "before");
	edit->first = position && !strcmp(position, "first");
	if (position && !edit->first && strcmp(position, "last"))
		return nb_fail(call->err, NB_E_ARG, 0,
			       "option position=: found %.32s, allowed: first, last", position);
	if (edit->before && position)
		return nb_fail(call->err, NB_E_ARG, 0,
			       "%s: both before= and position= given; give one",
			       call->req->spec->words);
	if (wanted && !edit->before && !position)
		return nb_fail(call->err, NB_E_ARG, 0,
			       "%s must have a position: "
			       "before=NAME, position=first or position=last",
			       call->req->spec->words);
	return 0;
}

int nb_cmd_policy_add(struct nb_call *call)
{
	struct nb_edit edit = { .what = NB_COMPOSE_ADD };
	int rc = parse_position(call, &edit, false);

	return rc ? rc : stage_edit(call, &edit);
}

int nb_cmd_policy_remove(struct nb_call *call)
{
	struct nb_edit edit = { .what = NB_COMPOSE_REMOVE, .name = call->req->arg[0] };

	return stage_edit(call, &edit);
}

int nb_cmd_policy_move(struct nb_call *call)
{
	struct nb_edit edit = { .what = NB_COMPOSE_MOVE };
	int rc = parse_position(call, &edit, true);

	return rc ? rc : stage_edit(call, &edit);
}

int nb_cmd_policy_replace(struct nb_call *call)
{
	struct nb_edit edit = { .what = NB_COMPOSE_REPLACE,
				.name = call->req->arg[0],
				.with = call->req->arg[1] };

	return stage_edit(call, &edit);
}
