// SPDX-License-Identifier: MIT
#ifndef NB_RELAY_RELAY_H
#define NB_RELAY_RELAY_H

#include <stdbool.h>

#include "core/base/err.h"
#include "plugin/relay/listen.h"
#include "plugin/runtime/jobdir.h"

/*
 * The agent's HTTPS server. It takes request lines of the control protocol
 * (docs/protocol.md) and passes them to the control sockets of this site's
 * processes:
 *
 *   GET  /v1/processes     {"processes":[{"rank":0,"pid":4711,"ns":…},…]}
 *   POST /v1/line?pid=P    P is a PID, or NAMESPACE.PID. The body is a
 *                          request line, a line feed and, if the header
 *                          Ncclbpf-Object gives its size, an object. The reply
 *                          is the process's: a line, or lines until the end of
 *                          a stream, and an object after it if its header
 *                          gives the size.
 *
 * Errors of the relay itself have the form of the protocol's error replies.
 *
 * Rights come from the client's certificate: its subject has the
 * organizational unit "ncclbpf-control" or "ncclbpf-observe". Without TLS
 * the address ends with a secret, which precedes each path: whoever knows it
 * may observe, and nobody may control.
 */
struct nb_relay;

/*
 * Configuration of the server.
 *
 * @place: job directory and job, borrowed until nb_relay_stop
 * @at: where to listen
 */
struct nb_relay_config {
	const struct nb_jobdir *place;
	struct nb_listen_config at;
};

/*
 * Start the server in threads of its own. Returns 0, NB_E_SETTING (a file or
 * the address), NB_E_IO (the port is in use) or NB_E_NOMEM.
 */
int nb_relay_start(struct nb_relay **out, const struct nb_relay_config *config, struct nb_err *err);
/*
 * Returns the address that the site's key in the store contains:
 * https://host:port, or http://host:port/secret without TLS.
 */
const char *nb_relay_address(const struct nb_relay *r);
/* Close all connections and end the threads. @r may be NULL. */
void nb_relay_stop(struct nb_relay *r);

#endif
