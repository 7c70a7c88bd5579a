// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_COORDINATOR_COORDINATOR_H
#define NB_PLUGIN_AGENT_COORDINATOR_COORDINATOR_H

#include <sys/types.h>

#include "core/base/utc.h"
#include "plugin/agent/site/state.h"
#include "plugin/agent/coordinator/target.h"

/*
 * Internals of the coordinator. Each file calls only files that come before it:
 * txn.c: transactions; lead.c: the distance of a fence; change.c: the steps of a
 * change; parts.c: what some changes do beside that (struct nb_coord_part), and
 * the guards and starts that begin changes; idle.c and keys.c: its other work
 * between changes; coordinator.c: its role, and what it does next.
 */

enum {
	/* number of audit entries for changes by controllers */
	NB_COORD_CONTROLLERS = 64,
	/* number of armings whose times determine the next fence */
	NB_COORD_ANSWERS = 9
};

enum nb_coord_state {
	NB_COORD_IDLE,
	NB_COORD_STAGING,  /* the sites are staging the change */
	NB_COORD_ARMED,	   /* the fences are armed, the sites are answering */
	NB_COORD_SETTLING, /* the sites commit their own communicators */
};

struct nb_coord;
/* Called after NB_COORD_REFUSED, in the next look. c->refusal says why. */
typedef void nb_coord_refused_fn(struct nb_coord *c);

/*
 * Which file sets which fields:
 *
 * coordinator.c, txn.c: the role and its transactions (key_mod to old_ms), idle_ms
 * lead.c: answer_ms and nanswers
 * change.c: the times of a change, and the change in progress. It frees what
 *   the parts have kept for the change, and sets lost where a term must end
 * parts.c: use (nb_coord_use); guard and guard_* (nb_coord_guard); start and
 *   start_* (nb_coord_start); audit and maker (nb_coord_audit)
 * idle.c: recovered (nb_coord_recovery), notes and notes_ms (nb_coord_notes)
 * keys.c: saving, saving_*, saved (nb_coord_saved); by_controllers, proposal and
 *   proposed (nb_coord_controllers); sweep_ms and unswept (nb_coord_sweep;
 *   change.c counts the requests)
 *
 * All of them set err, the reason why the change is refused.
 */
struct nb_coord {
	struct nb_agent *a;
	enum nb_coord_state state;
	/* revision of our coordinator key; 0: we are not the coordinator */
	int64_t key_mod;
	bool recovered;
	/* number of our terms as coordinator; older replies are dropped */
	uint64_t term;
	bool sending; /* a transaction is under way */
	/*
	 * lost: the last transaction was lost, so the term ends; lost_ms: when
	 * a term or the claim of one last ended so; told: the log says why
	 */
	bool lost, told;
	uint64_t lost_ms;
	/* what follows a refused transaction; NULL: none was refused */
	nb_coord_refused_fn *refused;
	struct nb_err refusal;
	/*
	 * done_rev: revision of our last change below the watched prefix, which
	 * the view must show before the next step; old_rev: revision of the
	 * view with which a transaction was refused, at time old_ms
	 */
	int64_t done_rev, old_rev;
	uint64_t old_ms;
	/*
	 * wait_ms: since when the change waits for sites that are away;
	 * idle_ms: time of the last look at all that is due between changes
	 */
	uint64_t deadline, began_ms, wait_ms, idle_ms;
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
	/* number of the change, and random id of its order (count_staged) */
	int64_t n, order_id;
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
	bool committing;   /* a commit was sent, and its outcome is unknown */
	bool ended;	   /* the outcome that is being reported (true: commit) */
	bool bare;	   /* report the end without lists and without an audit entry */
	unsigned tries;	   /* number of armings of this change */
	bool taken;	   /* a site has rolled the last arming back */
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
	json_t *saved; /* value of order/state that is to be written, or NULL */

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
	/* the last computed order/notes; may be NULL */
	json_t *notes;
	/* since when the store has had other notes; 0: it has these */
	uint64_t notes_ms;
	/* time of the last sweep of old keys; 0: a sweep is due */
	uint64_t sweep_ms;
	unsigned unswept; /* number of requests answered since the last sweep */
};

struct nb_coord *nb_coord_new(struct nb_agent *a);
void nb_coord_free(struct nb_coord *c);
void nb_coord_tick(struct nb_coord *c);
/*
 * Give up the coordinator's role, because the lease has expired or the keys are
 * read again.
 */
void nb_coord_reset(struct nb_coord *c);
/*
 * Returns true if the coordinator waits for a time, not for a reply of the
 * store.
 */
bool nb_coord_busy(const struct nb_coord *c);

/* ---- transactions ---- */

enum {
	NB_COORD_OPS = NB_STORE_OPS,
	/*
	 * Size limit of a request as text. Its parts are in up to four values
	 * of a transaction, each of them twice. etcd takes 1.5 MiB.
	 */
	NB_COORD_REQUEST = NB_STORE_VALUE_SIZE / 4
};

struct nb_coord_txn {
	struct nb_store_compare compare[NB_COORD_OPS];
	struct nb_store_op op[NB_COORD_OPS];
	char *key[2 * NB_COORD_OPS], *value[NB_COORD_OPS];
	size_t ncompare, nop, nkey, nvalue;
	size_t size;  /* bytes of all values */
	bool watched; /* it writes a key below the watched prefix */
	bool full;    /* there was no room for a compare */
	bool commits; /* it commits the change */
	/* NULL: the transaction counts as lost if it is refused */
	nb_coord_refused_fn *refused;
};

/*
 * How a transaction ended.
 *
 * NB_COORD_DONE: the store has carried it out. The next step that needs the
 * view is taken when the view shows it. NB_COORD_OLD: a key has changed since
 * the view's revision. Nothing was written; the step is taken again when the
 * view shows the change. NB_COORD_REFUSED: the store has not carried it out,
 * and never will: it is too large, the store is full, or the agent may not
 * write a key. The change ends with this error. NB_COORD_LOST: another agent
 * coordinates, the outcome is unknown, or the store does not answer. The term
 * ends. The next term begins with another revision of the coordinator's key, so
 * a transaction that arrives late is refused.
 */
enum nb_coord_outcome { NB_COORD_DONE, NB_COORD_OLD, NB_COORD_REFUSED, NB_COORD_LOST };

/* Called after NB_COORD_DONE. @r: the store's reply */
typedef void nb_coord_done_fn(struct nb_coord *c, const struct nb_store_reply *r);

/* Returns a new transaction that succeeds only while we are the coordinator. */
struct nb_coord_txn *nb_coord_txn_new(struct nb_coord *c);
/* Free a transaction that was not sent. */
void nb_coord_txn_free(struct nb_coord_txn *t);
void nb_coord_txn_compare(struct nb_coord *c, struct nb_coord_txn *t, const char *key, int64_t mod);
/*
 * Require that the sites say what the view shows: no key below site/ and
 * answer/ was written since. The store does not notice keys that a lease
 * deletes when it ends. Such a lease could as well have ended after the
 * transaction: the site's copies and ranks stay as the site has answered.
 */
void nb_coord_txn_facts(struct nb_coord *c, struct nb_coord_txn *t);
/* Add a put to the transaction. Takes ownership of @value. */
void nb_coord_txn_put(struct nb_coord *c, struct nb_coord_txn *t, const char *key, json_t *value,
		      int64_t lease);
/* Read the names of the keys below @prefix; the reply to the transaction has them. */
void nb_coord_txn_list(struct nb_coord *c, struct nb_coord_txn *t, const char *prefix);
/* Delete @key, on condition that its last change has revision @mod. */
void nb_coord_txn_delete(struct nb_coord *c, struct nb_coord_txn *t, const char *key, int64_t mod);
/*
 * Returns true if the view shows what the last transaction wrote, or what
 * refused it. A key that refuses a transaction again and again may be damaged,
 * so that the view cannot show it: try again at intervals.
 */
bool nb_coord_current(const struct nb_coord *c);
/*
 * Send the transaction and free @t. Until it ends, the coordinator takes no
 * other step. @done may be NULL. Returns true if it was sent.
 */
bool nb_coord_txn_send(struct nb_coord *c, struct nb_coord_txn *t, nb_coord_done_fn *done);

/* ---- parts ---- */

/*
 * A part of the coordinator's work. Each member may be NULL.
 *
 * take: keep what the part needs to know of a new change. @request: its
 *   request; NULL: the change only moves communicators to the job's generation.
 *   Returns 0, or an error in c->err, which refuses the change.
 * order: add to the transaction that orders all sites to stage the change.
 *   @order: value of order/stage
 * commit: add to the transaction that commits the change. @commit: value of
 *   order/commit
 * end: add to the transaction that ends the change. c->err has the reason of a
 *   refusal.
 * due: begin the work that is due between two changes. Returns true if it has
 *   sent a transaction or begun a change.
 * at_once: due is asked at each look, and not only at intervals
 */
struct nb_coord_part {
	int (*take)(struct nb_coord *c, const json_t *request);
	void (*order)(struct nb_coord *c, struct nb_coord_txn *t, json_t *order);
	void (*commit)(struct nb_coord *c, struct nb_coord_txn *t, json_t *commit);
	void (*end)(struct nb_coord *c, struct nb_coord_txn *t, bool committed);
	bool (*due)(struct nb_coord *c);
	bool at_once;
};

/* All parts, in the order in which they are asked (coordinator.c). */
enum { NB_COORD_PARTS = 13 };
extern const struct nb_coord_part *const nb_coord_parts[NB_COORD_PARTS];

extern const struct nb_coord_part nb_coord_recovery, nb_coord_requests, nb_coord_use,
	nb_coord_controllers, nb_coord_saved, nb_coord_members, nb_coord_notes, nb_coord_guard,
	nb_coord_start, nb_coord_reply, nb_coord_audit, nb_coord_catch_up, nb_coord_sweep;

/* ---- changes ---- */

/* Enter a state. It ends after @ms at the latest. */
void nb_coord_enter(struct nb_coord *c, enum nb_coord_state s, uint64_t ms);
/* Free the data of the current change. */
void nb_coord_change_free(struct nb_coord *c);
/*
 * Order all sites to stage @request. If @request is NULL, the sites only report
 * their generation. @id: the request's ID; "" if nobody waits for a reply
 */
void nb_coord_order(struct nb_coord *c, const char *id, const json_t *request);
/*
 * Resume a request that an earlier coordinator committed and did not answer.
 * Returns false if the request was not committed.
 */
bool nb_coord_resume(struct nb_coord *c, const char *id, const json_t *request);
/*
 * End a change and answer its request. Sites drop what they staged, unless the
 * change was committed.
 */
void nb_coord_end(struct nb_coord *c, bool committed);
/* Take the next step of the change in progress. */
void nb_coord_step(struct nb_coord *c);

/*
 * The next fence lies ahead of the ranks by what they decide in a time that is
 * measured. A short distance makes ranks switch sooner. It cannot cause
 * disagreement, because the coordinator never commits a fence that a rank
 * passed before its site answered.
 *
 * nb_coord_answered: record the time from the last arming until all sites have
 *   answered it
 * nb_coord_lead_ms: returns the time in which all sites should have answered an
 *   arming and got its outcome: twice the second longest of the last times, so
 *   that one slow answer does not delay later changes. Each try doubles it.
 */
void nb_coord_answered(struct nb_coord *c);
uint64_t nb_coord_lead_ms(const struct nb_coord *c);

/* ---- between changes ---- */

/*
 * Returns true if @id may be the name of a request: 1 to 127 letters, digits
 * and : . _ -
 */
bool nb_coord_request_valid(const char *id);
/* Write which sites have ranks of each communicator; true: it was sent. */
bool nb_coord_put_members(struct nb_coord *c);

/* The line that stages the bytes which change export returned
 * (keys.c). */
#define NB_COORD_IMPORT "change import"

/* Store the generation of a process. Takes ownership of the bytes in @r. */
void nb_coord_state_came(struct nb_coord *c, struct nb_procs_result *r);
void nb_coord_saving_free(struct nb_coord_saving *s);

/* Store the proposal of a process. Takes ownership of the bytes in @r. */
void nb_coord_proposal_came(struct nb_coord *c, struct nb_procs_result *r);
/*
 * Tell the process how its proposal @number has ended. @why: the reason of a
 * refusal; "" if all sites have committed the change. Does nothing if @number
 * is 0.
 */
void nb_coord_proposal_end(struct nb_coord *c, uint64_t number, const char *why);

/*
 * Returns true if @name is an audit entry of controllers. There is a fixed
 * number of them, so they are never old.
 */
bool nb_coord_audit_fixed(const char *name);
/*
 * Add the audit entry of a committed change that the coordinator itself has
 * begun, with the line, images and user of @request.
 */
void nb_coord_audit_put(struct nb_coord *c, struct nb_coord_txn *t, const json_t *request,
			const char *why);
/* Write the UTC time of now to @text; "" if it is unknown. Returns @text. */
const char *nb_coord_time(char text[NB_UTC_TEXT]);

#endif
