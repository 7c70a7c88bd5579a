// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_AGENT_H
#define NB_PLUGIN_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/agent/own.h"
#include "plugin/agent/procs.h"
#include "plugin/agent/site.h"
#include "plugin/agent/view.h"
#include "plugin/relay/relay.h"
#include "plugin/runtime/jobdir.h"
#include "plugin/store/store.h"

/*
 * The site's agent: it alone speaks to the store (docs/fleet.md). It registers
 * the site and its communicators under a lease, copies the fleet's records into
 * the segment, has the processes stage and commit, and may be the coordinator.
 */

enum {
	NB_AGENT_LEASE_S = 10,
	NB_AGENT_KEEP_MS = 2500,   /* between two keepalives */
	NB_AGENT_PATIENCE_MS = 500 /* a rank's at an undecided fence */
};

/* State of the agent's copy of the keys. */
enum nb_agent_follow {
	NB_AGENT_LOST,	  /* none: the store has not answered yet */
	NB_AGENT_READING, /* the keys are being read */
	NB_AGENT_FOLLOWING
};

struct nb_coord;

struct nb_agent {
	struct nb_jobdir dir;
	struct nb_site site;
	struct nb_http *http;
	struct nb_store *store;
	struct nb_own own;
	struct nb_view view;
	struct nb_procs *procs;
	struct nb_coord *coord;
	char name[72]; /* SITE */
	char host[65];
	struct nb_relay *relay;
	const char *address; /* its HTTPS server's address; "": none */

	int64_t lease; /* 0: none */
	bool lease_busy;
	uint64_t lease_ms; /* when it was last confirmed */

	enum nb_agent_follow follow;
	bool whole;	/* follows all families, as the coordinator does */
	uint64_t round; /* number of this reading; older replies are dropped */
	struct nb_store_watch *watch[8];
	uint64_t follow_ms; /* start of the last reading */

	/* orders: numbers of the changes being staged, and staged */
	int64_t staging_n, staged_n;
	char staged_digest[65];
	uint32_t commit_tries;
	bool pending;	     /* ranks are on their way to a fence */
	bool seen_due;	     /* the copies hold an outcome not yet answered */
	uint64_t pending_ms; /* since when */
	uint64_t waiting_ms; /* since when a rank waits; 0: none does */
	bool told_waiting, asked_fallback;
	bool barrier_due;	   /* copies were written without one */
	bool copies_due;	   /* a record has changed, or a copy failed */
	uint64_t scan_ms, site_ms; /* times of the last scans */
	uint64_t flush_ms;	   /* of the last try to write our own keys */
	uint64_t away_ms; /* since when the store fails; 0: it answers */
	int away_code;	  /* the kind of failure logged last */
	char text[168];	  /* what is wrong */
	bool over;
};

uint64_t nb_agent_ms(void);
/* A key below the job's prefix, complete; static, valid until the next call
 * but three. */
const char *nb_agent_key(const struct nb_agent *a, const char *key);
void nb_agent_log(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* Read the keys again and watch them. @whole: all families of keys. */
void nb_agent_follow(struct nb_agent *a, bool whole);
/* Write the site's own key. */
void nb_agent_describe(struct nb_agent *a);
/* Do what is due, and say for how many milliseconds nothing will be. */
int nb_agent_turn(struct nb_agent *a);

/* ---- order.c: what the coordinator orders ---- */

void nb_agent_orders(struct nb_agent *a);
/* The processes have answered. */
void nb_agent_result(struct nb_agent *a, const struct nb_procs_result *r);

/* @bytes: whose digest is as asked for, now the callee's; NULL: see @err. */
typedef void nb_image_done_fn(void *arg, void *bytes, size_t size,
			      const struct nb_err *err);
/* Read an image from the store. 0, and @done runs later, once.
 * @policy: it needs a signature, where these are required */
int nb_image_fetch(struct nb_agent *a, const char *digest, bool policy,
		   nb_image_done_fn *done, void *arg, struct nb_err *err);

/* Must policies be signed (NCCLBPF_FLEET_SIGNERS)? */
bool nb_signed_required(void);
/* Is one of the signatures in @text good for image @digest? 0, NB_E_PERM, or
 * why the list of keys cannot be read. */
int nb_signed_image(const char *digest, const char *text, size_t size,
		    struct nb_err *err);
/* Where signatures are required: is each policy that @line names among
 * @images? A policy that a process holds may be of a key that was removed. */
int nb_signed_line(const char *line, const json_t *images, struct nb_err *err);

struct nb_coord *nb_coord_new(struct nb_agent *a);
void nb_coord_free(struct nb_coord *c);
void nb_coord_turn(struct nb_coord *c);
/* Forget the role: the lease has expired, or the keys are read again. */
void nb_coord_reset(struct nb_coord *c);
/* Has it work that waits for a time, not for a reply? */
bool nb_coord_busy(const struct nb_coord *c);

#endif
