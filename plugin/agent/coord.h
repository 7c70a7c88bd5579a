// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_COORD_H
#define NB_PLUGIN_AGENT_COORD_H

#include "plugin/agent/agent.h"
#include "plugin/agent/target.h"

/*
 * The coordinator's inside: what it does now, transactions on the store
 * (coord_txn.c), what it does while there is no change (coord_idle.c), and the
 * steps of a change (coord.c).
 */

enum {
	NB_COORD_SETTLE_MS = 5000, /* for all sites to commit what is theirs
				    * alone */
	NB_COORD_CATCH_MS = 500	   /* between two looks for communicators that
				    * lack the job's generation */
};

enum nb_coord_state {
	NB_COORD_IDLE,
	NB_COORD_CLAIMING,   /* a transaction on the coordinator's key */
	NB_COORD_RECOVERING, /* one that puts armed records back */
	NB_COORD_CLEANING,   /* one that deletes records nobody has */
	NB_COORD_ORDERING,   /* one that orders staging */
	NB_COORD_STAGING,    /* sites stage */
	NB_COORD_ARMING,     /* a transaction that arms */
	NB_COORD_ARMED,	     /* sites answer */
	NB_COORD_DECIDING,   /* a transaction that commits or puts back */
	NB_COORD_SETTLING,   /* sites commit what is theirs alone */
	NB_COORD_ANSWERING   /* a transaction that answers the request */
};

struct nb_coord {
	struct nb_agent *a;
	enum nb_coord_state state;
	int64_t key_mod; /* of the coordinator's key; 0: we are not */
	bool recovered;
	uint64_t round; /* replies of older rounds are dropped */
	uint64_t deadline, began_ms, state_ms, caught_ms;
	uint64_t rtt_ms; /* worst of the last armings */

	/* the change */
	char request[128]; /* its ID; "": nobody has asked for it */
	bool catch_up;	   /* nothing changes: communicators follow their job */
	json_t *audit;	   /* the request, if it has an audit entry; or NULL */
	json_t *start; /* the job of this name starts with it; NULL: as before
			*/
	int64_t n;
	char digest[65];
	int64_t gen_n; /* number that records get: n, or of the generation */
	bool check, commit; /* only looks; what is being decided */
	unsigned tries;
	struct nb_targets targets;
	struct nb_err err;
	json_t *members; /* names of the sites that must commit */
	json_t *sites;	 /* of a refusal: which, and why */

	uint64_t start_ms;   /* when the job was last to start with @start */
	char start_why[200]; /* why it has not; "" */
};

struct nb_coord_call {
	struct nb_coord *c;
	uint64_t round;
};

/* Enter a state, for at most @ms. */
void nb_coord_enter(struct nb_coord *c, enum nb_coord_state s, uint64_t ms);
/* Forget the change. */
void nb_coord_change_free(struct nb_coord *c);
/* Order all sites to stage @request; NULL: to say what they have.
 * @id: "": nobody waits for a reply */
void nb_coord_order_stage(struct nb_coord *c, const char *id,
			  const json_t *request);

enum { NB_COORD_OPS = NB_STORE_OPS };

struct nb_coord_txn {
	struct nb_store_compare compare[NB_COORD_OPS];
	struct nb_store_op op[NB_COORD_OPS];
	char *key[2 * NB_COORD_OPS], *value[NB_COORD_OPS];
	size_t ncompare, nop, nkey, nvalue;
};

/* A transaction that holds only while we are the coordinator. */
struct nb_coord_txn *nb_coord_txn_new(struct nb_coord *c);
/* Of one that is not sent. */
void nb_coord_txn_free(struct nb_coord_txn *t);
void nb_coord_txn_compare(struct nb_coord *c, struct nb_coord_txn *t,
			  const char *key, int64_t mod);
/* Takes @value. */
void nb_coord_txn_put(struct nb_coord *c, struct nb_coord_txn *t,
		      const char *key, json_t *value, int64_t lease);
void nb_coord_txn_delete(struct nb_coord *c, struct nb_coord_txn *t,
			 const char *key);
/* Frees @t. */
bool nb_coord_txn_send(struct nb_coord *c, struct nb_coord_txn *t,
		       nb_store_done_fn *done);
/*
 * Whose reply is it? NULL: nobody's any more. A transaction that failed may
 * have been done: all keys are read again, and what they say holds.
 */
struct nb_coord *nb_coord_reply(void *arg, const struct nb_store_reply *r);

/* ---- coord_start.c: what a job of this name starts with ---- */

/* Let the job start with it, if it must. False: there is nothing to do. */
bool nb_coord_start(struct nb_coord *c);
/* Does @request also set it? False: as before. NB_E_ARG: it cannot. */
int nb_coord_start_take(struct nb_coord *c, const json_t *request);
/* Operations of the transaction that commits the change. */
void nb_coord_start_put(struct nb_coord *c, struct nb_coord_txn *t);

/* ---- coord_audit.c: the outcome in a request's audit entry ---- */

/* Keep what the entry of @request needs; NULL: nobody has asked. */
void nb_coord_audit_take(struct nb_coord *c, const json_t *request);
/* An operation of the transaction that commits the change. */
void nb_coord_audit_commit(struct nb_coord *c, struct nb_coord_txn *t);
/* An operation of the transaction that answers, if there is an error. */
void nb_coord_audit_end(struct nb_coord *c, struct nb_coord_txn *t,
			bool committed);

/* There is no change: recover, or begin the next one. */
void nb_coord_idle(struct nb_coord *c);

#endif
