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
int nb_store_put(struct nb_store *s, const char *key, const void *value, size_t size, int64_t lease,
		 nb_store_done_fn *done, void *arg, struct nb_err *err);

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
 * States that a watch reports.
 *
 * NB_STORE_WATCH_OPEN: the store has accepted the watch, at the start or after
 *   an interruption; no change was missed
 * NB_STORE_WATCH_EVENTS: changes, in the order of revisions
 * NB_STORE_WATCH_BROKEN: the watch was interrupted for the reason in @err, and
 *   will resume
 * NB_STORE_WATCH_LOST: the watch has ended and changes were missed; read the
 *   keys and start a new watch at the next revision
 * NB_STORE_WATCH_FAILED: the watch has ended for another reason, such as a
 *   missing permission
 */
enum nb_store_watch_state {
	NB_STORE_WATCH_OPEN,
	NB_STORE_WATCH_EVENTS,
	NB_STORE_WATCH_BROKEN,
	NB_STORE_WATCH_LOST,
	NB_STORE_WATCH_FAILED
};

/*
 * Report of a watch.
 *
 * @kv, @nkv: the changed keys; a deleted key has deleted set and no value
 * @revision: revision of the store; for NB_STORE_WATCH_LOST, the oldest
 *   revision that the store still has, or 0
 */
struct nb_store_watch_report {
	enum nb_store_watch_state state;
	const struct nb_err *err;
	const struct nb_store_kv *kv;
	size_t nkv;
	int64_t revision;
	const char *endpoint;
};

typedef void nb_store_watch_fn(void *arg, const struct nb_store_watch_report *report);

/*
 * nb_store_watch - report all changes of keys below @prefix
 * @revision: first revision to report; 0: only future changes
 *
 * An interrupted watch resumes at the next member. It lasts until
 * nb_store_unwatch, which must also be called after NB_STORE_WATCH_LOST and
 * NB_STORE_WATCH_FAILED. A member without a leader ends the watch, so a
 * partitioned member cannot hide changes.
 */
struct nb_store_watch *nb_store_watch(struct nb_store *s, const char *prefix, int64_t revision,
				      nb_store_watch_fn *fn, void *arg, struct nb_err *err);
void nb_store_unwatch(struct nb_store_watch *w);

typedef void nb_store_member_fn(void *arg, const struct nb_store_member *m);

const char *nb_store_endpoint(const struct nb_store *s, unsigned i);
/* Ask only member @i for its condition. */
int nb_store_member(struct nb_store *s, unsigned i, nb_store_member_fn *done, void *arg,
		    struct nb_err *err);

#endif
