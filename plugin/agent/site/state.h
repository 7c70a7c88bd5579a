// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_SITE_STATE_H
#define NB_PLUGIN_AGENT_SITE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/agent/keys/keys.h"
#include "plugin/agent/keys/times.h"
#include "plugin/agent/site/procs.h"
#include "plugin/agent/site/site.h"
#include "plugin/agent/keys/view.h"
#include "plugin/runtime/jobdir.h"
#include "plugin/store/store.h"

/*
 * The agent of a site, the only process there that talks to the store
 * (docs/fleet.md). It registers the site and its communicators under a lease,
 * and copies the fleet's records into the segment. It has the job's processes
 * stage and commit changes. One agent of the fleet is also the coordinator.
 */

/* State of the agent's copy of the store's keys. */
enum nb_agent_follow {
	NB_AGENT_LOST,	  /* no copy: no reply from the store yet */
	NB_AGENT_READING, /* the agent is reading the job's keys */
	NB_AGENT_FOLLOWING
};

struct nb_agent {
	struct nb_jobdir dir;
	struct nb_site site;
	struct nb_http *http;
	struct nb_store *store;
	struct nb_own own;
	struct nb_view view;
	struct nb_procs *procs;
	char name[72]; /* name of this site in the store's keys */
	char host[65];
	/* address of the agent's HTTPS server; "" if it has none */
	const char *address;

	int64_t lease; /* lease of our keys in the store; 0 if there is none */
	bool lease_busy;
	uint64_t lease_ms; /* time of the last request about the lease */

	enum nb_agent_follow follow;
	/*
	 * the copy has all keys of the job, as a coordinator needs, and not
	 * only those below order/
	 */
	bool whole;
	/*
	 * number of the current reading; replies of older readings are dropped
	 */
	uint64_t round;
	struct nb_store_watch *watch;
	uint64_t follow_ms; /* when the last reading of the keys started */

	/*
	 * number of the change that the processes are staging, and number of
	 * the change that they have staged
	 */
	int64_t staging_n, staged_n;
	/* id of the order of that change */
	int64_t order_id;
	/*
	 * late: number of processes that lack the site's generation; late_ms:
	 * time since which late is not 0, or 0; late_tried_ms: time of the last
	 * attempt to give them the generation
	 */
	unsigned late;
	uint64_t late_ms, late_tried_ms;
	unsigned late_tries; /* number of attempts since late_ms */
	/* number of the change for which the attempts failed */
	int64_t late_failed;
	char staged_digest[65];
	/* result of the last order, for the key answer/SITE; may be NULL */
	json_t *result;
	uint32_t commit_tries;
	/* number of sites that received the last order */
	unsigned sites;
	bool pending; /* some rank has yet to reach its fence */
	/*
	 * latest time to write the ranks' positions to the store; 0: the store
	 * has them
	 */
	uint64_t seen_ms;
	/* time since which some rank has yet to reach its fence */
	uint64_t pending_ms;
	/* time since which a rank waits at a fence; 0: no rank waits */
	uint64_t waiting_ms;
	bool told_waiting;
	/* copies were written after the last membarrier */
	bool barrier_due;
	/* a record has changed, or a copy could not be written */
	bool copies_due;
	/* orders or results of processes have come: look at the orders */
	bool orders_due;
	uint64_t scan_ms; /* time of the last scan of the segment */
	/*
	 * number of the value of site/SITE that first had the communicator of
	 * each entry of the segment; 0: its registration has been confirmed
	 */
	uint64_t described[NB_SEG_COMMS];
	/* the same for this run of the job */
	uint64_t run_described;
	uint64_t flush_ms;   /* when the agent last tried to write its keys */
	uint64_t compare_ms; /* when it last compared them with the store */
	/* time since which the store does not answer; 0: it answers */
	uint64_t away_ms;
	int away_code; /* error code of the last failure in the log */
	/* text that the log last had about the store */
	char text[NB_SEG_TEXT];
	/*
	 * the lease has ended or the store has gone back: an agent that
	 * coordinates gives up this role
	 */
	bool term_over;
	bool leaving; /* the job has ended: requests that fail tell nothing */
};

/*
 * Returns the additional ms that the store may need because all sites write to
 * it at once. Time limits that do not grow with the number of sites would make
 * the agents of a large fleet repeat requests that are merely queued.
 */
uint64_t nb_agent_crowd(const struct nb_agent *a);
/*
 * Returns the full store key of @key, which is relative to the job's prefix.
 * Images, audit entries and replies have a prefix of their own, because no
 * agent watches them. The result is static and valid until the fourth next
 * call.
 */
const char *nb_agent_key(const struct nb_agent *a, const char *key);
void nb_agent_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Remember the store's revision @rev, which a reply has shown. */
void nb_agent_revision(struct nb_agent *a, int64_t rev);
/* Record whether the store answers, and the text that status shows of it. */
void nb_agent_state(struct nb_agent *a, bool answers, const char *text);
/* A request to the store or a watch has failed. */
void nb_agent_failed(struct nb_agent *a, const struct nb_err *err);

#endif
