// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_REPLY_H
#define NB_PLUGIN_CONTROL_REPLY_H

#include <stdint.h>

#include "core/base/json.h"
#include "plugin/change/change.h"
#include "plugin/comm/comm.h"
#include "plugin/control/dispatch.h"

/*
 * What the handlers share: the JSON forms that stand in several replies
 * (docs/protocol.md), and room left in a reply. Control thread only.
 */

/* Lists stop at this size and set "more"; the rest of a reply then fits. */
enum { NB_CMD_ROOM = NB_WIRE_REPLY - (160 << 10) };

/* Is there room for one more element of a list? */
bool nb_cmd_room(const struct nb_json *j);

/* "digest": 64 hexadecimal digits */
void nb_cmd_digest(struct nb_json *j, const char *key,
		   const uint8_t digest[NB_SHA256_SIZE]);
/* The first 12 digits, for log lines. */
enum { NB_CMD_SHORT = 13 };
void nb_cmd_short(char text[NB_CMD_SHORT],
		  const uint8_t digest[NB_SHA256_SIZE]);

/* "policies": names of a generation's policies in the common order; @g may be
 * NULL. */
void nb_cmd_gen_names(struct nb_json *j, const struct nb_gen *g);
/* "scopes": communicators with their own order; @g may be NULL. */
void nb_cmd_scopes(struct nb_json *j, const struct nb_gen *g);

/* key: {"algo":…,"proto":…}; -1 is null */
void nb_cmd_choice(struct nb_json *j, const char *key, int algo, int proto);
/* key: the same and "channels" */
void nb_cmd_answer(struct nb_json *j, const char *key, int algo, int proto,
		   uint32_t channels);
/* key: @us, or null if NCCL predicts nothing */
void nb_cmd_cost(struct nb_json *j, const char *key, double us);

/* "context": the other context fields of decision @d of @c; "costs_us": NCCL's
 * 21 predictions for it, -1 for what it does not offer, or null: the table is
 * no longer kept. */
void nb_cmd_context(struct nb_json *j, const struct nb_comm *c,
		    const struct nb_decision *d);

/* Write a change as JSON members: its digest and state. */
void nb_cmd_change_short(struct nb_json *j,
			 const uint8_t digest[NB_SHA256_SIZE],
			 enum nb_change_state state);
/* Write a change as JSON members: what it is, and each communicator's outcome.
 */
void nb_cmd_change(struct nb_json *j, const struct nb_change *change);

/*
 * nb_cmd_finish_change - finish a staged change: report it (commit=no), or
 * commit it and report the outcome
 *
 * A commit that is refused leaves nothing staged. Notes the outcome for the
 * log. 0, or the error of nb_change_commit.
 */
int nb_cmd_finish_change(struct nb_call *call,
			 const uint8_t digest[NB_SHA256_SIZE]);

/* ---- options and arguments: 0 or NB_E_ARG ---- */

/* Option @name, a number within [least, most]. *@out stays if it is absent. */
int nb_cmd_number(struct nb_call *call, const char *name, uint64_t least,
		  uint64_t most, uint64_t *out);
/* Option if_generation=: the generation that the job must have; NB_CHANGE_ANY
 * if it is absent. */
int nb_cmd_expected(struct nb_call *call, uint64_t *out);

/* Option comm=: one communicator, or all if it is absent. */
struct nb_comm_option {
	bool given;
	uint64_t id;
};
int nb_cmd_comm(struct nb_call *call, struct nb_comm_option *out);
bool nb_comm_wanted(const struct nb_comm_option *o, uint64_t comm_id);

/*
 * A list in pages: options after= and limit=. A page ends at its limit or when
 * the reply is full; "next" is then the after= of the next page.
 */
struct nb_page {
	uint64_t after, limit;
	uint64_t at; /* index of the next element */
	bool more;   /* elements were left out */
};
int nb_page_options(struct nb_call *call, struct nb_page *page);
/* Is the next element of the list on this page? Counts it. */
bool nb_page_takes(struct nb_page *page, const struct nb_json *j);
/* Members "more" and "next". */
void nb_page_end(struct nb_json *j, const struct nb_page *page);

/* key: the profiler's events that do not count, by reason. */
void nb_cmd_lost_json(struct nb_json *j, const char *key);

/* "times": the value of NCCLBPF_TIMES, if it is set. */
void nb_cmd_times_json(struct nb_json *j);

/* "net": the object of `status`, null where no net of ours is in use. */
void nb_cmd_net_json(struct nb_json *j);
/* "gin": the same of the GIN plugin. */
void nb_cmd_gin_json(struct nb_json *j);
/* "verbs": likewise, null where no tap is loaded. */
void nb_cmd_verbs_json(struct nb_json *j);

#endif
