// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_COORD_H
#define NB_PLUGIN_AGENT_COORD_H

#include <sys/types.h>

#include "core/base/utc.h"
#include "plugin/agent/agent.h"
#include "plugin/agent/target.h"

/*
 * Internals of the coordinator: its state, its store transactions
 * (coord_txn.c), its work between changes (coord_idle.c), and the steps of a
 * change (coord.c).
 */

enum {
	/* number of audit entries for changes by controllers */
	NB_COORD_CONTROLLERS = 64,
	/* number of armings whose times determine the next fence */
	NB_COORD_ANSWERS = 9
};

enum nb_coord_state {
	NB_COORD_IDLE,
	/* a transaction that takes the coordinator's key is under way */
	NB_COORD_CLAIMING,
	/* a transaction that rolls armed records back is under way */
	NB_COORD_RECOVERING,
	/*
	 * a transaction that deletes records of ended communicators is under
	 * way
	 */
	NB_COORD_CLEANING,
	NB_COORD_ORDERING, /* a transaction that orders staging is under way */
	NB_COORD_STAGING,  /* the sites are staging the change */
	NB_COORD_ARMING,   /* a transaction that arms the fences is under way */
	NB_COORD_ARMED, /* the fences are armed, and the sites are answering */
	/* a transaction that commits or rolls back is under way */
	NB_COORD_DECIDING,
	/*
	 * the sites commit the communicators that have ranks on no other site
	 */
	NB_COORD_SETTLING,
	/* a transaction that answers the request is under way */
	NB_COORD_ANSWERING
};

struct nb_coord {
	struct nb_agent *a;
	enum nb_coord_state state;
	/* revision of our coordinator key; 0: we are not the coordinator */
	int64_t key_mod;
	bool recovered;
	/* number of the current step; replies to older steps are dropped */
	uint64_t round;
	uint64_t deadline, began_ms, state_ms, caught_ms;
	uint64_t look_ns; /* earliest time of the next check of all sites */
	/*
	 * ms from arming to the last site's answer, for each of the latest
	 * armings
	 */
	uint64_t answer_ms[NB_COORD_ANSWERS];
	unsigned nanswers;  /* how often this coordinator has armed fences */
	uint64_t arming_ms; /* when the last arming was sent */
	uint64_t lead_ms;   /* how far ahead the last arming put its fences */
	/* time for which all sites took to stage the change */
	uint64_t stage_ms;

	/* The fields below describe the change in progress. */
	/* ID of the request for the change; "" if there is none */
	char request[128];
	/* the change only moves communicators to the job's generation */
	bool catch_up;
	/* the change carries out the proposal c->proposal of controllers */
	bool by_controllers;
	/* the request, if it has an audit entry; NULL: it has none */
	json_t *audit;
	/*
	 * the policy that later jobs of this name start with; NULL: the change
	 * does not set it
	 */
	json_t *start;
	/*
	 * the request's line, images and user if it is a complete list of
	 * policies, else NULL
	 */
	json_t *use;
	/* the key guard/line that the change carries out, or NULL */
	json_t *guard;
	int64_t n;
	char digest[65];
	/* who asked for the change, for the option maker= of change commit */
	char maker[NB_PROCS_MAKER];
	/*
	 * generation number in the records: n; a catch-up uses the number of
	 * the job's generation
	 */
	int64_t gen_n;
	/*
	 * check: the request is a dry run; commit: the outcome that is being
	 * written (true: commit, false: roll back)
	 */
	bool check, commit;
	unsigned tries; /* number of armings of this change */
	/*
	 * the last change whose record an agent rolled back because a rank
	 * waited: its request or kind, and how often it was armed
	 */
	char taken[128];
	unsigned taken_tries;
	int64_t order_rev; /* revision of the key order/stage of the change */
	/* when communicators without the job's generation may be changed */
	uint64_t late_ms;
	struct nb_targets targets;
	struct nb_err err;
	/* names of the sites that take part in the change */
	json_t *members;
	json_t *sites; /* the sites that caused a refusal, with their reasons */

	/* when the coordinator last ordered the change in @start */
	uint64_t start_ms;
	char start_why[200]; /* why that start failed; "" if it succeeded */

	/* the job's generation while it is being stored; otherwise NULL */
	struct nb_coord_saving *saving;
	/*
	 * number of the change whose generation we last requested from a
	 * process, and the time of the request
	 */
	int64_t saving_n;
	uint64_t saving_ms;

	/*
	 * number of the controllers' proposal that is being fetched or carried
	 * out, or 0; the request that carries it out, until it is ordered
	 */
	uint64_t proposal;
	json_t *proposed;

	/*
	 * when the coordinator last tried to carry out a guard; number of
	 * attempts so far
	 */
	uint64_t guard_ms;
	unsigned guard_tries;
	/* number of the change that the store seemed to have lost; 0: none */
	int64_t mended;
	/* values of the keys members/COMM that are being written, by key */
	json_t *written;
	/* the last computed order/notes; may be NULL */
	json_t *notes;
	/* since when the store has had other notes; 0: it has these */
	uint64_t notes_ms;
	/* time of the last sweep of old keys; 0: a sweep is due */
	uint64_t sweep_ms;
	unsigned unswept; /* number of requests answered since the last sweep */
};

struct nb_coord_call {
	struct nb_coord *c;
	uint64_t round;
};

/*
 * Delete the job's old keys from the store if that is due (coord_sweep.c). Must
 * only be called between changes.
 */
void nb_coord_sweep(struct nb_coord *c);

/*
 * Returns true if we are the coordinator and have read all keys. Tries to
 * become the coordinator if there is none (coord_claim.c).
 */
bool nb_coord_is(struct nb_coord *c);

/* Enter a state. It ends after @ms at the latest. */
void nb_coord_enter(struct nb_coord *c, enum nb_coord_state s, uint64_t ms);
/*
 * coord_lead.c defines the three functions below. They choose the distance of
 * the next fence.
 */

/* Record the time from the last arming until all sites have answered it. */
void nb_coord_answered(struct nb_coord *c);
/*
 * Returns the time in which all sites should have answered an arming and got
 * its outcome: twice the second longest of the last times, so that one
 * slow answer does not delay later changes. Each try doubles it.
 */
uint64_t nb_coord_lead_ms(const struct nb_coord *c);

/* Free the data of the current change. */
void nb_coord_change_free(struct nb_coord *c);
/*
 * Order all sites to stage @request. If @request is NULL, the sites only report
 * their generation. @id: the request's ID; "" if nobody waits for a reply
 */
void nb_coord_order_stage(struct nb_coord *c, const char *id,
			  const json_t *request);

/*
 * coord_stage.c: look at the sites' answers while they stage the change. When
 * all have staged the same generation, answer a dry run, else arm the fences.
 */
void nb_coord_tick_staging(struct nb_coord *c);
/*
 * Schedule another try in a later round. Returns false if the change has waited
 * long enough.
 */
bool nb_coord_look_again(struct nb_coord *c);
/* Arm the fences of the change's communicators, or commit without any. */
void nb_coord_arm(struct nb_coord *c);
/*
 * End a change and answer its request. Sites drop what they staged, unless the
 * change was committed.
 */
void nb_coord_answer(struct nb_coord *c, bool committed);
/* End the change with an error. @hint: "" if there is none */
void nb_coord_refuse(struct nb_coord *c, int code, const char *text,
		     const char *hint);

enum { NB_COORD_OPS = NB_STORE_OPS };

struct nb_coord_txn {
	struct nb_store_compare compare[NB_COORD_OPS];
	struct nb_store_op op[NB_COORD_OPS];
	char *key[2 * NB_COORD_OPS], *value[NB_COORD_OPS];
	size_t ncompare, nop, nkey, nvalue;
	bool full; /* there was no room for a compare */
};

/* Returns a new transaction that succeeds only while we are the coordinator. */
struct nb_coord_txn *nb_coord_txn_new(struct nb_coord *c);
/* Free a transaction that was not sent. */
void nb_coord_txn_free(struct nb_coord_txn *t);
void nb_coord_txn_compare(struct nb_coord *c, struct nb_coord_txn *t,
			  const char *key, int64_t mod);
/* Require that no key below @prefix was created after revision @newest. */
void nb_coord_txn_compare_prefix(struct nb_coord *c, struct nb_coord_txn *t,
				 const char *prefix, int64_t newest);
/*
 * Require that each site that has destroyed a communicator has its agent, and
 * no ranks of the communicator. Our view cannot tell: each family of keys has
 * its own watch, so it may show that the keys comm/ of an agent that left have
 * vanished before it shows that for the key site/. If there are more such sites
 * than fit, the others are not checked. If one of them has left, its ranks and
 * their peers keep their generation until the coordinator finds that the
 * communicator lacks the job's.
 */
void nb_coord_txn_compare_gone(struct nb_coord *c, struct nb_coord_txn *t);
/* Add a put to the transaction. Takes ownership of @value. */
void nb_coord_txn_put(struct nb_coord *c, struct nb_coord_txn *t,
		      const char *key, json_t *value, int64_t lease);
void nb_coord_txn_delete(struct nb_coord *c, struct nb_coord_txn *t,
			 const char *key);
/* Send the transaction and free @t. Returns false if it could not be sent. */
bool nb_coord_txn_send(struct nb_coord *c, struct nb_coord_txn *t,
		       nb_store_done_fn *done);
/*
 * Returns the coordinator that waits for this reply, or NULL if it is outdated.
 * A transaction whose outcome is unknown may have taken effect, so all keys are
 * read again.
 */
struct nb_coord *nb_coord_reply(void *arg, const struct nb_store_reply *r);

/*
 * coord_start.c defines the four functions below. They handle the policy with
 * which jobs of this name start.
 */

/*
 * Start the job with its saved request if that is due. Returns false if there
 * is nothing to do.
 */
bool nb_coord_start(struct nb_coord *c);
/*
 * If the request is a complete list of policies, keep it for order/commit.
 * Processes and sites that join later read it there.
 */
void nb_coord_use_take(struct nb_coord *c, const json_t *request);
/*
 * Record whether @request also sets the policy of later jobs. Returns 0, or
 * NB_E_ARG if the request cannot be saved.
 */
int nb_coord_start_take(struct nb_coord *c, const json_t *request);
/*
 * If the request sets the policy of later jobs, add the operations that save it
 * to the transaction that commits the change.
 */
void nb_coord_start_put(struct nb_coord *c, struct nb_coord_txn *t);

/*
 * coord_state.c defines the four functions below. They keep the job's
 * generation in the store.
 */

/*
 * The request line that stages the bytes which the command change export
 * returned.
 */
#define NB_COORD_IMPORT "change import"

/*
 * Ask a process of this site for the job's generation, if the last change is no
 * complete list of policies and the store lacks its generation.
 */
void nb_coord_state(struct nb_coord *c);
/*
 * Store the bytes and images of @r, of kind NB_PROCS_EXPORT or
 * NB_PROCS_PROPOSAL. Returns true if it has taken ownership of them.
 */
bool nb_coord_store(struct nb_coord *c, struct nb_procs_result *r);
/* Store the answer of the process. Takes ownership of the bytes in @r. */
void nb_coord_state_came(struct nb_coord *c, struct nb_procs_result *r);
/*
 * Returns the value of a key with a request line that makes the job's
 * generation: order/commit or order/state. The value has no line if the
 * generation cannot be stored; its member text then says why. Returns NULL if
 * there is no such key.
 */
const json_t *nb_coord_state_of(const struct nb_view *v);
void nb_coord_saving_free(struct nb_coord_saving *s);

/*
 * coord_audit.c defines the eight functions below. They write a request's
 * outcome to its audit entry.
 */

/*
 * Keep the facts that the audit entry of @request needs. @request is NULL if
 * the coordinator itself began the change.
 */
void nb_coord_audit_take(struct nb_coord *c, const json_t *request);
/*
 * Keep the name of the user who made @request: its member maker, or the user
 * who saved the policy with which the job starts.
 */
void nb_coord_maker_take(struct nb_coord *c, const json_t *request);
/*
 * Add to the transaction that orders a change of controllers its audit entry,
 * without an outcome. Each of the last NB_COORD_CONTROLLERS changes has an
 * entry. @order: the new value of order/stage, which counts these changes
 */
void nb_coord_audit_order(struct nb_coord *c, struct nb_coord_txn *t,
			  json_t *order);
/*
 * If the coordinator before this one ended before it decided a change of
 * controllers, add the outcome to the change's audit entry, and drop the
 * change. Another request is still in the store, so its change is made again.
 */
void nb_coord_audit_undecided(struct nb_coord *c, struct nb_coord_txn *t);
/*
 * Returns true if @name is an audit entry of controllers. There is a fixed
 * number of them, so they are never old.
 */
bool nb_coord_audit_fixed(const char *name);
/* Add the audit outcome to the transaction that commits the change. */
void nb_coord_audit_commit(struct nb_coord *c, struct nb_coord_txn *t);
/*
 * Add the error, if there is one, to the transaction that answers the request.
 */
void nb_coord_audit_end(struct nb_coord *c, struct nb_coord_txn *t,
			bool committed);
/*
 * Add the audit entry of a committed change that the coordinator itself has
 * begun, with the line, images and user of @request.
 */
void nb_coord_audit_put(struct nb_coord *c, struct nb_coord_txn *t,
			const json_t *request, const char *why);
/* Write the UTC time of now to @text; "" if it is unknown. Returns @text. */
const char *nb_coord_time(char text[NB_UTC_TEXT]);

/*
 * coord_guard.c defines the four functions below. They handle rollouts and
 * sweeps whose runner is lost.
 */

/*
 * Roll back the candidate of a lost runner if that is due. Returns false if
 * there is nothing to do.
 */
bool nb_coord_guard(struct nb_coord *c);
/*
 * Require that we have seen all requests. The watches are independent, so the
 * runner's last request may arrive after the report that its lease has ended.
 * That request would put the candidate in use, and no guard would roll it back.
 */
void nb_coord_guard_compare(struct nb_coord *c, struct nb_coord_txn *t);
/* If @request carries out a guard, keep that guard in @c. */
void nb_coord_guard_take(struct nb_coord *c, const json_t *request);
/* Add the end of the guard to the transaction that commits the change. */
void nb_coord_guard_put(struct nb_coord *c, struct nb_coord_txn *t);

/*
 * coord_controllers.c defines the four functions below: changes that
 * controllers propose (plugin/controller/proposal.h).
 */

/*
 * Fetch the proposal of this site's processes, or begin the change that it
 * proposes. Returns true if a change has begun.
 */
bool nb_coord_proposal(struct nb_coord *c);
/* Store the proposal of a process. Takes ownership of the bytes in @r. */
void nb_coord_proposal_came(struct nb_coord *c, struct nb_procs_result *r);
/* Called when the store has the bytes of @r as image @data. */
void nb_coord_proposal_stored(struct nb_coord *c,
			      const struct nb_procs_result *r,
			      const char *data);
/*
 * Tell the process how its proposal @number has ended. @why: the reason of a
 * refusal; "" if all sites have committed the change. Does nothing if @number
 * is 0.
 */
void nb_coord_proposal_end(struct nb_coord *c, uint64_t number,
			   const char *why);

/*
 * coord_mend.c defines the two functions below. nb_coord_lost: returns true if
 * a site says that the store has lost the group's record. nb_coord_mend:
 * rebuild such a record, or a lost key order/commit, from the sites' keys;
 * returns false if there is nothing to do.
 */
struct nb_group;
bool nb_coord_lost(const struct nb_view *v, const struct nb_group *g);
bool nb_coord_mend(struct nb_coord *c);

/*
 * Returns true if @id may be the name of a request: 1 to 127 letters, digits
 * and : . _ -
 */
bool nb_coord_request_valid(const char *id);
/*
 * Work without a change in progress: recover after another coordinator, or
 * begin the next change.
 */
void nb_coord_idle(struct nb_coord *c);

#endif
