// SPDX-License-Identifier: MIT
#ifndef NB_STORE_MEMBER_H
#define NB_STORE_MEMBER_H

#include "plugin/store/codec.h"
#include "plugin/store/store.h"

/*
 * The store's object, shared by plugin/store/store.c (configuration),
 * request.c (requests and their attempts) and watch.c.
 */
struct nb_store_request;

struct nb_store {
	struct nb_http *http;
	char *endpoint[NB_STORE_ENDPOINTS];
	/* when a member last answered, for watches on it */
	uint64_t answered_ms[NB_STORE_ENDPOINTS];
	unsigned nendpoints, current;
	char *cacert, *cert, *key, *user, *password;
	struct nb_http_tls tls;
	unsigned timeout_ms;
	char authorization[600]; /* header line; empty: not authenticated */
	bool authenticating;
	struct nb_store_request *requests;
	struct nb_store_watch *watches;
};

/* Is the token missing that a request needs? Gets one if so: the waiting
 * requests and watches are started then, or fail. */
bool nb_store_must_authenticate(struct nb_store *s);
/* Forget the token, which the store no longer accepts. */
void nb_store_drop_token(struct nb_store *s);
/* Start the watches that wait for authentication; @err: it failed. */
void nb_store_watches_authenticated(struct nb_store *s,
				    const struct nb_err *err);

/* Member @i failed: use the next one, and resume the watches there. */
void nb_store_member_failed(struct nb_store *s, unsigned i,
			    const struct nb_err *err);
void nb_store_watches_moved(struct nb_store *s, unsigned i,
			    const struct nb_err *err);

/* Cancel all, without callbacks. */
void nb_store_requests_free(struct nb_store *s);
void nb_store_watches_free(struct nb_store *s);

#endif
