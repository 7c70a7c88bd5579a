// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_REPLY_H
#define NB_PLUGIN_CONTROL_REPLY_H

#include <stdint.h>

#include "core/base/json.h"
#include "plugin/change/change.h"
#include "plugin/comm/comm.h"
#include "plugin/control/dispatch.h"

/*
 * Functions that the handlers share: JSON forms that occur in several replies
 * (docs/protocol.md), and the room left in a reply. Control thread only.
 */

/*
 * When a reply has this size, lists stop and set "more", so that the rest of
 * the reply fits.
 */
enum { NB_CMD_ROOM = NB_WIRE_REPLY - (160 << 10) };

/* Returns true if there is room for one more element of a list. */
bool nb_cmd_room(const struct nb_json *j);

/* Write @key with a digest of 64 hexadecimal digits. */
void nb_cmd_digest(struct nb_json *j, const char *key, const uint8_t digest[NB_SHA256_SIZE]);
/* Write the first 12 hexadecimal digits of a digest, for log lines. */
enum { NB_CMD_SHORT = 13 };
void nb_cmd_short(char text[NB_CMD_SHORT], const uint8_t digest[NB_SHA256_SIZE]);

/*
 * Write "policies": the names of a generation's policies in their order. @g may
 * be NULL.
 */
void nb_cmd_gen_names(struct nb_json *j, const struct nb_gen *g);
/* Write "scopes": communicators with an order of their own. @g may be NULL. */
void nb_cmd_scopes(struct nb_json *j, const struct nb_gen *g);

/* Write @key with {"algo":…,"proto":…}. A value of -1 becomes null. */
void nb_cmd_choice(struct nb_json *j, const char *key, int algo, int proto);
/*
 * Write @key with {"algo":…,"proto":…,"channels":…}, and "chunk_size" if a policy
 * has chosen it.
 */
void nb_cmd_answer(struct nb_json *j, const char *key, const struct nb_decision *d);
/*
 * Write what a decision chose, by which policy, and at what cost: members
 * "nccl" to "generation".
 */
void nb_cmd_decision(struct nb_json *j, const struct nb_decision *d);
/* Write @key with a cost in microseconds, or null if NCCL predicts none. */
void nb_cmd_cost(struct nb_json *j, const char *key, double us);

/* Write what ranks of @c agree on about their hosts: members "gpu_arch" to "ranks_per_node". */
void nb_cmd_platform(struct nb_json *j, const struct nb_comm *c);

/*
 * Write "context", the other context fields of decision @d of @c, and
 * "costs_us", NCCL's 21 predictions. A choice that NCCL does not offer has the
 * cost -1. "costs_us" is null if the table is no longer kept.
 */
void nb_cmd_context(struct nb_json *j, const struct nb_comm *c, const struct nb_decision *d);

/* Write a change as JSON members: its digest and state. */
void nb_cmd_change_short(struct nb_json *j, const uint8_t digest[NB_SHA256_SIZE],
			 enum nb_change_state state);
/*
 * Write a change as JSON members: its description, and each communicator's
 * outcome.
 */
void nb_cmd_change(struct nb_json *j, const struct nb_change *change);

/*
 * nb_cmd_finish_change - report a staged change (commit=no), or commit it and
 * report the outcome
 *
 * A refused commit leaves nothing staged. The outcome is noted for the log.
 * Returns 0 or the error of nb_change_commit.
 */
int nb_cmd_finish_change(struct nb_call *call, const uint8_t digest[NB_SHA256_SIZE]);

/* The functions below read options and arguments. They return 0 or NB_E_ARG. */

/*
 * Read option @name, a number from @least to @most. *@out is unchanged if the
 * option is absent.
 */
int nb_cmd_number(struct nb_call *call, const char *name, uint64_t least, uint64_t most,
		  uint64_t *out);
/*
 * Read option if_generation=, the generation that the job must have. *@out is
 * NB_CHANGE_ANY if it is absent.
 */
int nb_cmd_expected(struct nb_call *call, uint64_t *out);

/*
 * Option comm=, which selects one communicator. If it is absent, all are
 * selected.
 */
struct nb_comm_option {
	bool given;
	uint64_t id;
};
int nb_cmd_comm(struct nb_call *call, struct nb_comm_option *out);
bool nb_comm_wanted(const struct nb_comm_option *o, uint64_t comm_id);

/*
 * A page of a list, selected by the options after= and limit=. A page ends at
 * its limit or when the reply is full. "next" is the value of after= for the
 * next page.
 */
struct nb_page {
	uint64_t after, limit;
	uint64_t at; /* index of the next element of the list */
	bool more;   /* the page does not contain all elements */
};
int nb_page_options(struct nb_call *call, struct nb_page *page);
/*
 * Returns true if the next element of the list is on this page, and counts it.
 */
bool nb_page_takes(struct nb_page *page, const struct nb_json *j);
/* Write the members "more" and "next". */
void nb_page_end(struct nb_json *j, const struct nb_page *page);

/* Write @key with the numbers of lost profiler events, by reason. */
void nb_cmd_lost_json(struct nb_json *j, const char *key);
/*
 * Write the field no_gpu_times: why NCCL is not asked for kernels although they
 * are wanted, with advice, or null.
 */
void nb_cmd_refused_json(struct nb_json *j);

/* Write "times", the value of NCCLBPF_TIMES, if it is set. */
void nb_cmd_times_json(struct nb_json *j);

/*
 * Write "net", the object that `status` shows, or null if our net plugin is not
 * in use.
 */
void nb_cmd_net_json(struct nb_json *j);
/*
 * Write "gin", the object that `status` shows, or null if our GIN plugin is not
 * in use.
 */
void nb_cmd_gin_json(struct nb_json *j);
/*
 * Write "verbs", the object that `status` shows, or null if no tap is loaded.
 */
void nb_cmd_verbs_json(struct nb_json *j);

#endif
