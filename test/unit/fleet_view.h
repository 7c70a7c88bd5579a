// SPDX-License-Identifier: MIT
#ifndef NB_TEST_FLEET_VIEW_H
#define NB_TEST_FLEET_VIEW_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coordinator/coordinator.h"
#include "plugin/agent/coordinator/target.h"

/*
 * For tests of the coordinator: a view of the store's keys, with one
 * communicator of the sites a and b, and the last transaction. A test program
 * that includes this is linked with --wrap=nb_store_txn.
 */
#define COMM "00000000000000c0"
#define RECORD "order/record/" COMM
#define DIGEST "1111111111111111111111111111111111111111111111111111111111111111"

enum { MADE = 10, ARMED = 20 };

static struct nb_view view;

static inline void put(const char *key, const char *value, int64_t mod)
{
	const struct nb_view_key *k = nb_view_get(&view, key);

	ck_assert(nb_view_put(&view, key, value, strlen(value), k ? k->made : mod, mod));
	if (mod > view.revision)
		view.revision = mod;
}

static inline void put_site(const char *site)
{
	char key[64];

	snprintf(key, sizeof(key), "comm/" COMM "/%s", site);
	put(key,
	    "{\"since\":5,\"nranks\":4,\"ranks\":2,\"clock\":\"decisions\","
	    "\"settings\":[1],\"differs\":\"\"}",
	    6);
}

/* What the site answers of the last order; "" if there was none. */
static char ordered[2][160];

static inline void put_seen(const char *site, int64_t rev, const char *stand)
{
	char key[64], value[512];

	snprintf(key, sizeof(key), "answer/%s", site);
	snprintf(value, sizeof(value),
		 "{%s\"comms\":{\"" COMM "\":{\"rev\":%lld,\"id\":%lld,"
		 "\"announced\":3,"
		 "\"per_s\":0,\"taken\":true,\"stand\":\"%s\"}}}",
		 ordered[*site == 'b'], (long long)rev, (long long)rev, stand);
	put(key, value, rev);
}

static nb_store_done_fn *txn_done;
static void *txn_arg;
static unsigned ntxn;
static int txn_rc;	       /* what the next transactions return; not 0: not sent */
static char txn_puts[2048];    /* KEY=VALUE lines of the last transaction */
static char txn_compares[512]; /* its KEY=REVISION lines; KEY<=REVISION: a prefix */

int __wrap_nb_store_txn(struct nb_store *s, const struct nb_store_txn *txn, nb_store_done_fn *fn,
			void *arg, struct nb_err *e);
int __wrap_nb_store_txn(struct nb_store *s, const struct nb_store_txn *txn, nb_store_done_fn *fn,
			void *arg, struct nb_err *e)
{
	(void)s;
	ntxn++;
	*txn_puts = '\0';
	for (size_t i = 0; i < txn->nthen; i++)
		if (txn->then[i].kind == NB_STORE_PUT)
			snprintf(txn_puts + strlen(txn_puts), sizeof(txn_puts) - strlen(txn_puts),
				 "%s=%s\n", txn->then[i].key, (const char *)txn->then[i].value);
	*txn_compares = '\0';
	for (size_t i = 0; i < txn->ncompare; i++)
		snprintf(txn_compares + strlen(txn_compares),
			 sizeof(txn_compares) - strlen(txn_compares),
			 txn->compare[i].prefix ? "%s<=%lld\n" : "%s=%lld\n", txn->compare[i].key,
			 (long long)txn->compare[i].revision);
	if (txn_rc)
		return nb_fail(e, txn_rc, 0, "too much for the store");
	txn_done = fn;
	txn_arg = arg;
	return 0;
}

/* The value of key members/COMM that the coordinator must write; NULL: none. */
static inline void members_due(const char *want)
{
	size_t i = nb_view_first(&view, "comm/");
	char key[32];
	int64_t mod;
	json_t *value = nb_groups_members(&view, &i, key, &mod);
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	ck_assert(!text == !want);
	if (text) {
		ck_assert_str_eq(key, "members/" COMM);
		ck_assert_str_eq(text, want);
		put(key, text, MADE);
	}
	free(text);
	json_decref(value);
}

#endif
