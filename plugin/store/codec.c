// SPDX-License-Identifier: MIT
/*
 * Encodes requests to etcd. A request for keys is sent as a transaction, even
 * for a single operation.
 */
#include "plugin/store/codec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugin/store/base64.h"

static void put_base64(struct nb_buf *out, const char *name, const void *p, size_t size)
{
	nb_buf_printf(out, "\"%s\":\"", name);
	nb_base64_put(out, p, size);
	nb_buf_char(out, '"');
}

static int check_key(const char *key, bool prefix, struct nb_err *err)
{
	size_t n = strlen(key);

	if ((!n && !prefix) || n >= NB_STORE_KEY_SIZE)
		return nb_fail(err, NB_E_ARG, 0, "store: a key of %zu bytes, 1 to %d are allowed",
			       n, NB_STORE_KEY_SIZE - 1);
	return 0;
}

/*
 * Compute the first key after all keys that start with @prefix. If @prefix is
 * empty or consists of bytes 0xff, the result is a zero byte, which etcd reads
 * as "all keys from here".
 */
static size_t prefix_end(char end[NB_STORE_KEY_SIZE], const char *prefix)
{
	size_t n = strlen(prefix);

	memcpy(end, prefix, n);
	while (n && (unsigned char)end[n - 1] == 0xff)
		n--;
	if (!n) {
		end[0] = '\0';
		return 1;
	}
	end[n - 1] = (char)((unsigned char)end[n - 1] + 1);
	return n;
}

/* Write the members "key" and "range_end" for a prefix. */
static void put_prefix(struct nb_buf *out, const char *prefix)
{
	char end[NB_STORE_KEY_SIZE];
	size_t n = prefix_end(end, prefix);

	if (prefix[0])
		put_base64(out, "key", prefix, strlen(prefix));
	else
		put_base64(out, "key", "", 1);
	nb_buf_char(out, ',');
	put_base64(out, "range_end", end, n);
}

static void put_range(struct nb_buf *out, const struct nb_store_op *op, const char *what)
{
	nb_buf_printf(out, "{\"%s\":{", what);
	if (op->kind == NB_STORE_GET_PREFIX || op->kind == NB_STORE_DELETE_PREFIX)
		put_prefix(out, op->key);
	else
		put_base64(out, "key", op->key, strlen(op->key));
	if (op->limit)
		nb_buf_printf(out, ",\"limit\":\"%u\"", op->limit);
	if (op->keys_only)
		nb_buf_str(out, ",\"keys_only\":true");
	nb_buf_str(out, "}}");
}

static int encode_put(struct nb_buf *out, const struct nb_store_op *op, struct nb_err *err)
{
	if (op->size > NB_STORE_VALUE_SIZE)
		return nb_fail(err, NB_E_ARG, 0,
			       "store: key %s: a value of %zu bytes, at most %d are allowed",
			       op->key, op->size, NB_STORE_VALUE_SIZE);
	nb_buf_str(out, "{\"request_put\":{");
	put_base64(out, "key", op->key, strlen(op->key));
	nb_buf_char(out, ',');
	put_base64(out, "value", op->value, op->size);
	if (op->lease)
		nb_buf_printf(out, ",\"lease\":\"%" PRId64 "\"", op->lease);
	nb_buf_str(out, "}}");
	return 0;
}

static int put_op(struct nb_buf *out, const struct nb_store_op *op, struct nb_err *err)
{
	bool prefix = op->kind == NB_STORE_GET_PREFIX || op->kind == NB_STORE_DELETE_PREFIX;
	int rc = check_key(op->key, prefix, err);

	if (rc)
		return rc;
	switch (op->kind) {
	case NB_STORE_GET:
	case NB_STORE_GET_PREFIX:
		put_range(out, op, "request_range");
		return 0;
	case NB_STORE_DELETE:
	case NB_STORE_DELETE_PREFIX:
		put_range(out, op, "request_delete_range");
		return 0;
	case NB_STORE_PUT:
		break;
	}
	return encode_put(out, op, err);
}

static int put_ops(struct nb_buf *out, const char *name, const struct nb_store_op *op, size_t n,
		   struct nb_err *err)
{
	if (n > NB_STORE_OPS)
		return nb_fail(err, NB_E_ARG, 0,
			       "store: %zu operations in a transaction, at most %d are allowed", n,
			       NB_STORE_OPS);
	nb_buf_printf(out, ",\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		int rc;

		if (i)
			nb_buf_char(out, ',');
		rc = put_op(out, &op[i], err);
		if (rc)
			return rc;
	}
	nb_buf_char(out, ']');
	return 0;
}

static void put_compare(struct nb_buf *out, const struct nb_store_compare *c)
{
	if (c->prefix)
		put_prefix(out, c->key);
	else
		put_base64(out, "key", c->key, strlen(c->key));
	nb_buf_printf(out,
		      ",\"target\":\"MOD\",\"result\":\"%s\","
		      "\"mod_revision\":\"%" PRId64 "\"}",
		      c->prefix ? "LESS" : "EQUAL", c->revision + c->prefix);
}

int nb_store_encode_txn(struct nb_buf *out, const struct nb_store_txn *txn, struct nb_err *err)
{
	int rc;

	if (txn->ncompare > NB_STORE_OPS)
		return nb_fail(err, NB_E_ARG, 0,
			       "store: %zu compares in a transaction, at most %d are allowed",
			       txn->ncompare, NB_STORE_OPS);
	nb_buf_str(out, "{\"compare\":[");
	for (size_t i = 0; i < txn->ncompare; i++) {
		rc = check_key(txn->compare[i].key, txn->compare[i].prefix, err);
		if (rc)
			return rc;
		nb_buf_str(out, i ? ",{" : "{");
		put_compare(out, &txn->compare[i]);
	}
	nb_buf_char(out, ']');
	rc = put_ops(out, "success", txn->then, txn->nthen, err);
	if (!rc)
		rc = put_ops(out, "failure", txn->otherwise, txn->notherwise, err);
	nb_buf_char(out, '}');
	if (!rc && !nb_buf_ok(out))
		rc = nb_fail(err, NB_E_NOMEM, 0, "store: no memory");
	return rc;
}

int nb_store_encode_watch(struct nb_buf *out, const char *prefix, int64_t revision,
			  struct nb_err *err)
{
	int rc = check_key(prefix, true, err);

	if (rc)
		return rc;
	nb_buf_str(out, "{\"create_request\":{");
	put_prefix(out, prefix);
	nb_buf_printf(out, ",\"start_revision\":\"%" PRId64 "\"}}", revision);
	if (!nb_buf_ok(out))
		return nb_fail(err, NB_E_NOMEM, 0, "store: no memory");
	return 0;
}
