// SPDX-License-Identifier: MIT
#ifndef NB_RELAY_METRICS_H
#define NB_RELAY_METRICS_H

#include "core/base/err.h"
#include "plugin/relay/listen.h"

/*
 * HTTP server of the path /metrics: the text of `ncclbpf-shell metrics`, which
 * is the one place that has the names, units and help texts. It answers one
 * request at a time, and runs the shell at most once a second, so that clients
 * cannot make it do more. No TLS and no roles: the text is what any user of
 * this host's job may see.
 */
struct nb_metrics;

/*
 * nb_metrics_start - serve the metrics of a job's processes on this host
 * @at: address and port; TLS files are ignored
 * @job: job, or "" for the only job of this host; borrowed until the stop
 * @dir: directory of the job's sockets, or "" for the usual ones; copied
 *
 * Returns 0, NB_E_SETTING or NB_E_IO (the server cannot listen there), or
 * NB_E_NOMEM.
 */
int nb_metrics_start(struct nb_metrics **out, const struct nb_listen_config *at, const char *job,
		     const char *dir, struct nb_err *err);
/* Returns the URL of the path /metrics. */
const char *nb_metrics_address(const struct nb_metrics *m);
void nb_metrics_stop(struct nb_metrics *m);

#endif
