// SPDX-License-Identifier: MIT
#ifndef NB_STORE_TXN_H
#define NB_STORE_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * Transactions and replies as plain data. codec.h converts them to and from
 * JSON; store.h sends requests.
 */

enum {
	NB_STORE_KEY_SIZE = 1024,      /* length limit of a key, including its NUL */
	NB_STORE_VALUE_SIZE = 1 << 20, /* size limit of a value in bytes */
	/* limit of operations in one transaction, which etcd sets */
	NB_STORE_OPS = 128
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
 * @value, @size: value of a NB_STORE_PUT, which is copied
 * @lease: lease of the key put; 0: none
 * @limit: most keys that NB_STORE_GET_PREFIX returns; 0: all
 * @keys_only: NB_STORE_GET_PREFIX returns no values
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

/*
 * A condition: the last change of @key has revision @revision. A revision of 0
 * requires that the key does not exist. With @prefix, the condition is that no
 * key below @key has changed since this revision. It does not notice a key that
 * was deleted since.
 */
struct nb_store_compare {
	const char *key;
	int64_t revision;
	bool prefix;
};

/*
 * A transaction. If all compares hold, the store runs the operations of @then,
 * else those of @otherwise, at one revision. The reply contains the keys that
 * these operations read.
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
 * @op: index of the operation that read the key
 * @mod_revision: revision of the last change; in a watch, 0: the key was
 *   deleted
 * @lease: lease of the key; 0: none
 */
struct nb_store_kv {
	/* key_size bytes, which may contain NULs, then a NUL */
	const char *key;
	size_t key_size;
	const char *value; /* size bytes, which may contain NULs, then a NUL */
	size_t size;
	int64_t create_revision, mod_revision, lease;
	unsigned op;
	bool deleted;
};

/*
 * A reply, valid during the callback.
 *
 * @err: NULL on success; NB_E_STORE (no member answers, or no leader),
 *   NB_E_TIMEOUT, NB_E_PERM (user, role or certificate), NB_E_LIMIT (request
 *   too large), NB_E_FULL (store out of space), NB_E_NOENT (no such lease),
 *   NB_E_PROTOCOL or NB_E_ARG
 * @unknown: the request failed, but a write may have taken effect
 * @succeeded: all compares of a transaction held, and @then was done
 * @revision: revision of the store at this reply
 * @more: number of matching keys beyond those returned
 * @ttl_s: time to live of a lease; after a keepalive, 0: the lease has expired
 * @took_us: time from the request to the reply, with failed attempts
 * @endpoint: URL of the member that answered or failed last
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

#endif
