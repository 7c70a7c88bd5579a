// SPDX-License-Identifier: MIT
#ifndef NB_STORE_TXN_H
#define NB_STORE_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/* Transactions and replies as plain data, apart from their JSON (codec.h) and
 * from requests (store.h). */

enum {
	NB_STORE_KEY_SIZE = 1024,      /* longest key, with its NUL */
	NB_STORE_VALUE_SIZE = 1 << 20, /* largest value */
	NB_STORE_OPS = 128	       /* etcd's limit for a transaction */
};

enum nb_store_op_kind {
	NB_STORE_GET,
	NB_STORE_GET_PREFIX,
	NB_STORE_PUT,
	NB_STORE_DELETE,
	NB_STORE_DELETE_PREFIX
};

/*
 * One operation of a transaction.
 *
 * @value, @size: of NB_STORE_PUT, copied; @lease: the lease it ends with, or 0
 * @limit:     of NB_STORE_GET_PREFIX: most keys returned; 0: all
 * @keys_only: of NB_STORE_GET_PREFIX: no values
 */
struct nb_store_op {
	enum nb_store_op_kind kind;
	const char *key;
	const void *value;
	size_t size;
	int64_t lease;
	unsigned limit;
	bool keys_only;
};

/* Holds if the last change of @key has revision @mod_revision; 0: if there is
 * no such key. */
struct nb_store_compare {
	const char *key;
	int64_t mod_revision;
};

/*
 * If all compares hold, the store does all of @then at one revision, else all
 * of @otherwise. Keys that the done operations read are in the reply.
 */
struct nb_store_txn {
	const struct nb_store_compare *compare;
	size_t ncompare;
	const struct nb_store_op *then;
	size_t nthen;
	const struct nb_store_op *otherwise;
	size_t notherwise;
};

/*
 * One key and its value.
 *
 * @op:           index of the operation that read it
 * @mod_revision: revision of the last change; 0: deleted (in a watch)
 * @lease:        0: none
 */
struct nb_store_kv {
	const char *key; /* key_size bytes, then a NUL; may contain NULs */
	size_t key_size;
	const char *value; /* size bytes, then a NUL; may contain NULs */
	size_t size;
	int64_t create_revision, mod_revision, lease;
	unsigned op;
	bool deleted;
};

/*
 * A reply. Valid during the callback.
 *
 * @err:       NULL: success. NB_E_STORE (no member answers, no leader),
 *             NB_E_TIMEOUT, NB_E_PERM (user, role, certificate),
 *             NB_E_LIMIT (request too large), NB_E_FULL (store out of
 *             space), NB_E_NOENT (no such lease), NB_E_PROTOCOL, NB_E_ARG
 * @unknown:   the request failed, but a write may have taken effect
 * @succeeded: of a transaction: all compares held, @then was done
 * @revision:  the store's revision at this reply
 * @more:      number of keys that match beyond those returned
 * @ttl_s:     of a lease; 0 after a keepalive: the lease has expired
 * @took_us:   from the request to the reply, with failed attempts
 * @endpoint:  URL of the member that answered or failed last
 */
struct nb_store_reply {
	const struct nb_err *err;
	bool unknown, succeeded;
	int64_t revision;
	const struct nb_store_kv *kv;
	size_t nkv, more;
	int64_t lease, ttl_s;
	uint64_t took_us;
	const char *endpoint;
};

/*
 * A member's condition. Valid during the callback. @leader: 0: none;
 * @alarm: the member's first error, or NULL.
 */
struct nb_store_member {
	const struct nb_err *err;
	const char *endpoint;
	char version[24];
	uint64_t member, leader;
	int64_t db_size, revision;
	uint64_t took_us;
	char alarm[120];
};

#endif
