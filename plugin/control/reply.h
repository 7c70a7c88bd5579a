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

/* Lists end here and say "more": the rest of a reply fits easily. */
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

/* "policies": names of a generation's policies, in order, those that some
 * communicators alone have left out; @g may be NULL. */
void nb_cmd_gen_names(struct nb_json *j, const struct nb_gen *g);
/* "scopes": who has others, and which; @g may be NULL. */
void nb_cmd_scopes(struct nb_json *j, const struct nb_gen *g);

/* key: {"algo":…,"proto":…}; -1 is null */
void nb_cmd_choice(struct nb_json *j, const char *key, int algo, int proto);
/* key: the same and "channels" */
void nb_cmd_answer(struct nb_json *j, const char *key, int algo, int proto,
		   uint32_t channels);
/* key: @us, or null where NCCL predicts nothing */
void nb_cmd_cost(struct nb_json *j, const char *key, double us);

/* "context": what policies saw of decision @d of @c beside collective, bytes
 * and NCCL's choice; "costs_us": NCCL's table for it, 21 predictions, -1 where
 * it offers nothing, or null: it is no longer kept. */
void nb_cmd_context(struct nb_json *j, const struct nb_comm *c,
		    const struct nb_decision *d);

/* A change as an object. */
void nb_cmd_change(struct nb_json *j, const struct nb_change *change);

/*
 * nb_cmd_finish_change - what follows staging: report it (commit=no), or
 * commit and report what became of it
 *
 * A commit that is refused leaves nothing staged. Notes the outcome for the
 * log. 0, or the error of nb_change_commit.
 */
int nb_cmd_finish_change(struct nb_call *call,
			 const uint8_t digest[NB_SHA256_SIZE]);

/* Option if_generation=: the generation that the job must have; NB_CHANGE_ANY
 * where it is not given. 0, NB_E_ARG. */
int nb_cmd_expected(struct nb_call *call, uint64_t *out);

/* Option limit= within [1, most], @absent when not given. 0, NB_E_ARG. */
int nb_cmd_limit(struct nb_call *call, uint64_t most, uint64_t absent,
		 uint64_t *out);

/* key: the profiler's events that do not count, by reason. */
void nb_cmd_lost_json(struct nb_json *j, const char *key);

/* "times": what they are, where NCCLBPF_TIMES says that nothing is measured. */
void nb_cmd_times_json(struct nb_json *j);

/* "net": the object of `status`, null where no net of ours is in use. */
void nb_cmd_net_json(struct nb_json *j);

#endif
