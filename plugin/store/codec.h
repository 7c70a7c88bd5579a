// SPDX-License-Identifier: MIT
#ifndef NB_STORE_CODEC_H
#define NB_STORE_CODEC_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "plugin/store/txn.h"

/*
 * etcd's JSON, both ways, without any I/O: requests as text, replies of
 * untrusted bytes as plain data. Forms: etcd's api_reference_v3, as
 * grpc-gateway has them: 64-bit numbers are strings, keys and values base64,
 * and fields that are zero or false are absent.
 */

/* What etcd's status codes mean to a client (grpc/codes). */
enum nb_store_grpc {
	NB_STORE_GRPC_OK = 0,
	NB_STORE_GRPC_INVALID = 3,
	NB_STORE_GRPC_DEADLINE = 4,
	NB_STORE_GRPC_NOT_FOUND = 5,
	NB_STORE_GRPC_DENIED = 7,
	NB_STORE_GRPC_EXHAUSTED = 8,
	NB_STORE_GRPC_FAILED = 9,
	NB_STORE_GRPC_RANGE = 11,
	NB_STORE_GRPC_UNAVAILABLE = 14,
	NB_STORE_GRPC_UNAUTHENTICATED = 16
};

/* A decoded reply. @reply points into the members below it. */
struct nb_store_decoded {
	struct nb_store_reply reply;
	struct nb_store_kv *kv;
	size_t nkv;
	struct nb_buf bytes; /* the bytes of keys and values */
	char token[512];     /* authentication: the token */
	/* watch: one line of its stream */
	bool created, cancelled, progress;
	int64_t compacted;
	char reason[200];
	/* status of a member */
	struct nb_store_member member;
};

void nb_store_decoded_init(struct nb_store_decoded *d);
void nb_store_decoded_fini(struct nb_store_decoded *d);

/* 0, NB_E_ARG or NB_E_NOMEM. */
int nb_store_encode_txn(struct nb_buf *out, const struct nb_store_txn *txn,
			struct nb_err *err);
int nb_store_encode_watch(struct nb_buf *out, const char *prefix,
			  int64_t revision, struct nb_err *err);
/* Password and user as etcd's authenticate wants them. */
void nb_store_encode_user(struct nb_buf *out, const char *user,
			  const char *password);

enum nb_store_form {
	NB_STORE_FORM_TXN,
	NB_STORE_FORM_LEASE,
	NB_STORE_FORM_KEEPALIVE,
	NB_STORE_FORM_WATCH,
	NB_STORE_FORM_AUTH,
	NB_STORE_FORM_MEMBER
};

/*
 * nb_store_decode - read one JSON value of a reply
 * @endpoint: for the text of errors
 *
 * 0, NB_E_PROTOCOL (not of the form), NB_E_NOMEM.
 */
int nb_store_decode(struct nb_store_decoded *d, enum nb_store_form form,
		    const char *text, size_t size, const char *endpoint,
		    struct nb_err *err);

/*
 * nb_store_decode_error - make an error of a reply that is one
 * @status: HTTP status; 0: unknown
 * @grpc:   gets etcd's code, NB_STORE_GRPC_*; 0: the text has none
 *
 * Returns NB_E_*, which @err holds. Also texts that are not JSON (a proxy's).
 */
int nb_store_decode_error(const char *text, size_t size, long status,
			  const char *endpoint, int *grpc, struct nb_err *err);

#endif
