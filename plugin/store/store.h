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
 * A client of etcd (3.4 or newer) by its v3 JSON gateway. All requests are
 * asynchronous: they run in the loop of plugin/store/http.h, and a callback
 * gets the reply. One thread uses a store.
 *
 * Members of the store are tried in turn. A request that fails before a
 * member got it goes to the next one. A read also goes to the next one when
 * its outcome is unknown; a write does not, and its reply says so.
 */
struct nb_store;
struct nb_store_watch;

enum { NB_STORE_ENDPOINTS = 16 };

/*
 * Where the store is. Strings are copied.
 *
 * @endpoints:     URLs of members with commas between them, "http://" or
 *                 "https://" each
 * @tls:           PEM files; a certificate needs its key
 * @user:          empty or NULL: no authentication
 * @password_file: first line is the password; readable by its owner alone
 * @timeout_ms:    of a request, over all members; 0: 5000
 * @first:         number of the member that is asked first, modulo theirs:
 *                 the clients of one store share its members' work
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
 * nb_store_open - read the configuration; nothing is sent
 * @http: the loop; must outlive the store
 *
 * 0, NB_E_SETTING (an invalid URL, an unreadable file, a certificate without
 * its key, a password file that others may read), NB_E_NOMEM.
 */
int nb_store_open(struct nb_store **out, struct nb_http *http,
		  const struct nb_store_config *config, struct nb_err *err);
/* Cancel everything; no callback runs any more. NULL is allowed. */
void nb_store_close(struct nb_store *s);

typedef void nb_store_done_fn(void *arg, const struct nb_store_reply *reply);

/*
 * Requests. 0, and @done runs later, once; or NB_E_ARG (a key that is empty
 * or too long, a value too large, too many operations) or NB_E_NOMEM, and it
 * does not run.
 */
int nb_store_txn(struct nb_store *s, const struct nb_store_txn *txn,
		 nb_store_done_fn *done, void *arg, struct nb_err *err);
/* One operation alone. */
int nb_store_do(struct nb_store *s, const struct nb_store_op *op,
		nb_store_done_fn *done, void *arg, struct nb_err *err);
int nb_store_get(struct nb_store *s, const char *key, nb_store_done_fn *done,
		 void *arg, struct nb_err *err);
/* All keys that start with @prefix, in the order of keys. */
int nb_store_range(struct nb_store *s, const char *prefix,
		   nb_store_done_fn *done, void *arg, struct nb_err *err);
int nb_store_put(struct nb_store *s, const char *key, const void *value,
		 size_t size, int64_t lease, nb_store_done_fn *done, void *arg,
		 struct nb_err *err);

int nb_store_lease_grant(struct nb_store *s, int64_t ttl_s,
			 nb_store_done_fn *done, void *arg, struct nb_err *err);
/* Also a success if the lease has expired: then ttl_s of the reply is 0. */
int nb_store_lease_keepalive(struct nb_store *s, int64_t lease,
			     nb_store_done_fn *done, void *arg,
			     struct nb_err *err);
int nb_store_lease_revoke(struct nb_store *s, int64_t lease,
			  nb_store_done_fn *done, void *arg,
			  struct nb_err *err);

/*
 * What a watch reports.
 *
 * NB_STORE_WATCH_OPEN:   the store has accepted the watch, at the start and
 *                        after each interruption; nothing was missed
 * NB_STORE_WATCH_EVENTS: changes in the order of revisions
 * NB_STORE_WATCH_BROKEN: interrupted, @err says why; it is being resumed
 * NB_STORE_WATCH_LOST:   over, changes were missed (compacted, or a change
 *                        too large to receive): read the keys, watch anew
 *                        from the revision after that
 * NB_STORE_WATCH_FAILED: over for another reason (permission)
 */
enum nb_store_watch_state {
	NB_STORE_WATCH_OPEN,
	NB_STORE_WATCH_EVENTS,
	NB_STORE_WATCH_BROKEN,
	NB_STORE_WATCH_LOST,
	NB_STORE_WATCH_FAILED
};

/*
 * @kv, @nkv: changed keys; a deleted one has deleted set and no value
 * @revision: the store's at that time; of NB_STORE_WATCH_LOST: the oldest
 *            revision that the store still has, or 0
 */
struct nb_store_watch_report {
	enum nb_store_watch_state state;
	const struct nb_err *err;
	const struct nb_store_kv *kv;
	size_t nkv;
	int64_t revision;
	const char *endpoint;
};

typedef void nb_store_watch_fn(void *arg,
			       const struct nb_store_watch_report *report);

/*
 * nb_store_watch - report all changes below @prefix
 * @revision: first revision to report; 0: from now on
 *
 * The watch resumes where it was interrupted, at the next member, until
 * nb_store_unwatch. After _LOST and _FAILED it stays silent and must still be
 * ended. A member without a leader ends the watch, so that a partitioned
 * member does not hide changes.
 */
struct nb_store_watch *nb_store_watch(struct nb_store *s, const char *prefix,
				      int64_t revision, nb_store_watch_fn *fn,
				      void *arg, struct nb_err *err);
void nb_store_unwatch(struct nb_store_watch *w);

typedef void nb_store_member_fn(void *arg, const struct nb_store_member *m);

unsigned nb_store_nendpoints(const struct nb_store *s);
const char *nb_store_endpoint(const struct nb_store *s, unsigned i);
/* Ask member @i, and no other. */
int nb_store_member(struct nb_store *s, unsigned i, nb_store_member_fn *done,
		    void *arg, struct nb_err *err);

#endif
