// SPDX-License-Identifier: MIT
#ifndef NB_STORE_STORE_H
#define NB_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "plugin/store/http.h"
#include "plugin/store/txn.h"

/*
 * A client of etcd (3.4 or newer) that uses its v3 JSON gateway. All requests
 * are asynchronous: they run in the loop of plugin/store/http.h, and a callback
 * gets the reply. Only one thread may use a store.
 *
 * Members of the store are tried in order. A request that failed before a
 * member got it is sent to the next member. A read with an unknown outcome is
 * also sent again. A write with an unknown outcome is not, and its reply says
 * so.
 */
struct nb_store;
struct nb_store_watch;

enum { NB_STORE_ENDPOINTS = 16 };

/*
 * How to reach the store. Strings are copied.
 *
 * @endpoints: URLs of the members, separated by commas; each begins with
 *   "http://" or "https://"
 * @tls: PEM files; a certificate needs its key
 * @user: user name; empty or NULL: no authentication
 * @password_file: file with the password in its first line; only its owner may
 *   read it
 * @timeout_ms: time limit of a request over all attempts; 0: 5000
 * @first: number of the member to ask first, modulo the number of members;
 *   different numbers spread the clients over the members
 */
struct nb_store_config {
	const char *endpoints;
	struct nb_http_tls tls;
	const char *user;
	const char *password_file;
	unsigned timeout_ms;
	unsigned first;
};

/*
 * nb_store_open - check the configuration and open the store
 * @http: the event loop, which must outlive the store
 *
 * It sends nothing. Returns 0, NB_E_NOMEM, or NB_E_SETTING (an invalid URL, an
 * unreadable file, a certificate without its key, or a password file that
 * others may read).
 */
int nb_store_open(struct nb_store **out, struct nb_http *http, const struct nb_store_config *config,
		  struct nb_err *err);
/*
 * Change the time limit of requests that start from now on. A lease's keepalive
 * has the limit of nb_store_config, because the lease does not wait longer.
 */
void nb_store_set_timeout(struct nb_store *s, unsigned ms);
/*
 * Cancel all watches and fail all requests under way, so that the callbacks of
 * these free what they have, and refuse new ones. @s may be NULL. Only nb_store_close may follow.
 */
void nb_store_end(struct nb_store *s);
/*
 * Cancel all requests and watches, and close the store. No callback runs. @s
 * may be NULL.
 */
void nb_store_close(struct nb_store *s);

typedef void nb_store_done_fn(void *arg, const struct nb_store_reply *reply);

/*
 * Send a request. If a function returns 0, @done runs later, once. It returns
 * NB_E_NOMEM, or NB_E_ARG (an empty or too long key, a too large value, or too
 * many operations), and @done does not run.
 */
int nb_store_txn(struct nb_store *s, const struct nb_store_txn *txn, nb_store_done_fn *done,
		 void *arg, struct nb_err *err);
/* Run a transaction with a single operation. */
int nb_store_do(struct nb_store *s, const struct nb_store_op *op, nb_store_done_fn *done, void *arg,
		struct nb_err *err);
int nb_store_get(struct nb_store *s, const char *key, nb_store_done_fn *done, void *arg,
		 struct nb_err *err);

int nb_store_lease_grant(struct nb_store *s, int64_t ttl_s, nb_store_done_fn *done, void *arg,
			 struct nb_err *err);
/*
 * Keep a lease alive. If the lease has expired, the request succeeds with ttl_s
 * 0 in the reply.
 */
int nb_store_lease_keepalive(struct nb_store *s, int64_t lease, nb_store_done_fn *done, void *arg,
			     struct nb_err *err);
int nb_store_lease_revoke(struct nb_store *s, int64_t lease, nb_store_done_fn *done, void *arg,
			  struct nb_err *err);

/*
 * Report of a watch.
 *
 * @err: NULL: the report has changes. Otherwise the watch has ended, and may
 *   have missed changes: read the keys and start a new watch at the next
 *   revision. NB_E_PERM: the user may not read the keys
 * @kv, @nkv: the changed keys in the order of revisions; a deleted key has
 *   deleted set and no value
 */
struct nb_store_watch_report {
	const struct nb_err *err;
	const struct nb_store_kv *kv;
	size_t nkv;
};

typedef void nb_store_watch_fn(void *arg, const struct nb_store_watch_report *report);

/*
 * nb_store_watch - report all changes of keys below @prefix
 * @revision: first revision to report
 *
 * It lasts until a report with an error, and must be freed by nb_store_unwatch
 * in any case. A member without a leader ends the watch, so a partitioned
 * member cannot hide changes.
 */
struct nb_store_watch *nb_store_watch(struct nb_store *s, const char *prefix, int64_t revision,
				      nb_store_watch_fn *fn, void *arg, struct nb_err *err);
void nb_store_unwatch(struct nb_store_watch *w);

#endif
