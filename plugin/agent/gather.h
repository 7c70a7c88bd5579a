// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_GATHER_H
#define NB_PLUGIN_AGENT_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/agent/view.h"
#include "plugin/relay/listen.h"
#include "plugin/store/http.h"

/*
 * The coordinator's end of the links (docs/fleet.md): an HTTP server that gives
 * the other agents the keys of the family order/, and takes their answers.
 *
 *   POST /v1/link, headers Ncclbpf-Site and Ncclbpf-Secret
 *   {"have":REVISION,"wait":MS,"full":true,"answers":{"staged":{…},"seen":{…}}}
 *
 * have: the agent has all changes of order/ up to this revision of the store.
 * wait: reply when there is a newer change, or after MS; 0: reply at once.
 * full: answers has all answers of the agent. The reply:
 *
 *   {"secret":…,"beat":MS,"rev":REVISION,"list":false,"again":false,
 *    "order":[{"key":"order/stage","made":R,"mod":R,"value":{…}},…]}
 *
 * order: the changed keys; with list: all keys of the family, because some were
 * deleted. again: the server lacks earlier answers of this agent, so the next
 * request must be full. beat: the time to wait in the next request. Other
 * replies have a status other than 200 and {"error":TEXT}.
 *
 * The server runs in the thread of the event loop and uses no locks. It only
 * passes on keys that the store has committed (test/model/fleet.pml).
 */
struct nb_gather;

enum {
	NB_GATHER_NAME = 72,	     /* room for the name of a site */
	NB_GATHER_SECRET = 33,	     /* room for a secret, in hexadecimal */
	NB_GATHER_BODY = 256 << 10,  /* most bytes of a request */
	NB_GATHER_PENDING = 16 << 20 /* most bytes of all unfinished requests */
};

/*
 * nb_gather_open - listen for agents
 * @http: the event loop
 * @view: the coordinator's view of the store, which gets the answers
 *
 * Returns 0, or the errors of nb_relay_start.
 */
int nb_gather_open(struct nb_gather **out, struct nb_http *http,
		   struct nb_view *view, const struct nb_listen_config *config,
		   struct nb_err *err);
/* End all links. @g may be NULL. */
void nb_gather_close(struct nb_gather *g);
const char *nb_gather_address(const struct nb_gather *g);
/* SHA-256 of the secret that each reply repeats, in hexadecimal. */
const char *nb_gather_proof(const struct nb_gather *g);

/*
 * The view has all changes of order/ up to @rev. Keys may have been deleted up
 * to revision @gone, so that agents with an older state get the whole list.
 */
void nb_gather_news(struct nb_gather *g, int64_t rev, int64_t gone);
/*
 * Accept links (@yes), or end all of them and refuse new ones, because this
 * agent itself may lack the store's changes.
 */
void nb_gather_allow(struct nb_gather *g, bool yes);
/* The key site/@name has changed or is gone. */
void nb_gather_site(struct nb_gather *g, const char *name);
/*
 * The view has lost key staged/SITE or seen/SITE: set it again to the answer
 * that the site's link brought.
 */
void nb_gather_restore(struct nb_gather *g, const char *key);
/*
 * The view was read from the store again, which lacks the answers of linked
 * sites: set the keys of these answers in the view.
 */
void nb_gather_reread(struct nb_gather *g);
/* Send due replies. Call it in each iteration of the agent's loop. */
void nb_gather_tick(struct nb_gather *g);
/* Returns the number of sites that are linked. */
unsigned nb_gather_sites(const struct nb_gather *g);

/* secret.c: draw a secret. Returns false if the kernel has no random bytes. */
bool nb_gather_draw(char secret[NB_GATHER_SECRET]);
/* Write the SHA-256 of a secret, in hexadecimal. */
void nb_gather_hash(const char *secret, char hash[65]);

#endif
