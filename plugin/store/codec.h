// SPDX-License-Identifier: MIT
#ifndef NB_STORE_CODEC_H
#define NB_STORE_CODEC_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "plugin/store/txn.h"

/*
 * Encodes requests as etcd's JSON, and decodes replies, whose bytes are not
 * trusted. It does no I/O. The forms are those of etcd's api_reference_v3 as
 * grpc-gateway writes them: 64-bit numbers are strings, keys and values are
 * base64, and fields that are zero or false are absent.
 */

/* Status codes of etcd's replies (grpc/codes) that the client handles. */
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

enum { NB_STORE_TOKEN_SIZE = 4096 };

/* A decoded reply. The pointers in @reply point to the other members. */
struct nb_store_decoded {
	struct nb_store_reply reply;
	struct nb_store_kv *kv;
	size_t nkv;
	/* buffer that holds the bytes of keys and values */
	struct nb_buf bytes;
	/* reply to a user's authentication; etcd's signed tokens can be long */
	char token[NB_STORE_TOKEN_SIZE];
	/* fields of one line of a watch's stream */
	bool cancelled;
	int64_t compacted;
	char reason[200];
};

void nb_store_decoded_init(struct nb_store_decoded *d);
void nb_store_decoded_fini(struct nb_store_decoded *d);

/* Encode a request. Returns 0, NB_E_ARG or NB_E_NOMEM. */
int nb_store_encode_txn(struct nb_buf *out, const struct nb_store_txn *txn, struct nb_err *err);
int nb_store_encode_watch(struct nb_buf *out, const char *prefix, int64_t revision,
			  struct nb_err *err);
/* Encode user and password for etcd's authenticate request. */
void nb_store_encode_user(struct nb_buf *out, const char *user, const char *password);

enum nb_store_form {
	NB_STORE_FORM_TXN,
	NB_STORE_FORM_LEASE,
	NB_STORE_FORM_KEEPALIVE,
	NB_STORE_FORM_WATCH,
	NB_STORE_FORM_AUTH
};

/*
 * nb_store_decode - decode one JSON value of a reply
 * @endpoint: the member's URL, for error messages
 *
 * Returns 0, NB_E_PROTOCOL (invalid reply) or NB_E_NOMEM.
 */
int nb_store_decode(struct nb_store_decoded *d, enum nb_store_form form, const char *text,
		    size_t size, const char *endpoint, struct nb_err *err);

/*
 * nb_store_decode_error - turn an error reply into an error
 * @status: HTTP status; 0 if it is not known
 * @grpc: set to etcd's code, NB_STORE_GRPC_*; 0 if the reply has none
 *
 * Returns the error's code NB_E_*. It also accepts text that is not JSON, such
 * as a proxy's reply.
 */
int nb_store_decode_error(const char *text, size_t size, long status, const char *endpoint,
			  int *grpc, struct nb_err *err);

#endif
