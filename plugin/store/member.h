// SPDX-License-Identifier: MIT
#ifndef NB_STORE_MEMBER_H
#define NB_STORE_MEMBER_H

#include "plugin/store/codec.h"
#include "plugin/store/store.h"

/*
 * The store object, which member.c (configuration), request.c (requests and
 * their attempts) and watch.c share.
 */
struct nb_store_request;

struct nb_store {
	struct nb_http *http;
	char *endpoint[NB_STORE_ENDPOINTS];
	/*
	 * time of each member's last answer; watches use it to detect a member
	 * that hangs
	 */
	uint64_t answered_ms[NB_STORE_ENDPOINTS];
	unsigned nendpoints, current;
	char *cacert, *cert, *key, *user, *password;
	struct nb_http_tls tls;
	unsigned timeout_ms;
	unsigned keep_ms; /* time limit of a lease's keepalive */
	/* header line with the token; "" if not authenticated */
	char authorization[NB_STORE_TOKEN_SIZE + 32];
	bool authenticating;
	bool ended; /* no request may start */
	struct nb_store_request *requests;
	struct nb_store_watch *watches;
};

/*
 * Returns true if the request must wait for a token, and asks for one. When the
 * reply arrives, the waiting requests and watches start or fail.
 */
bool nb_store_must_authenticate(struct nb_store *s);
/* Forget a token that the store no longer accepts. */
void nb_store_drop_token(struct nb_store *s);
/*
 * Start the watches that waited for authentication, or end them if @err is not
 * NULL.
 */
void nb_store_watches_authenticated(struct nb_store *s, const struct nb_err *err);

/* Read @key from member @i alone, which must have a leader to answer. */
int nb_store_probe(struct nb_store *s, unsigned i, const char *key, nb_store_done_fn *done,
		   void *arg);
/* Mark member @i as failed: use the next member, and end the watches of this one. */
void nb_store_member_failed(struct nb_store *s, unsigned i, const struct nb_err *err);
void nb_store_watches_moved(struct nb_store *s, unsigned i, const struct nb_err *err);

/* Cancel all requests or watches. No callback runs. */
void nb_store_requests_free(struct nb_store *s);
void nb_store_watches_free(struct nb_store *s);

#endif
