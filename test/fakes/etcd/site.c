// SPDX-License-Identifier: MIT
/*
 * site ENDPOINTS JOB SITE DIR [CACERT CERT KEY]: the part of a site's agent
 * that the shell sees: the key of the site, under a lease, and the relay to
 * the control sockets in DIR. Prints the relay's address; ends with SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/relay/relay.h"
#include "plugin/store/store.h"

static struct nb_http *http;
static struct nb_store *store;
static volatile sig_atomic_t stop;
static int64_t lease;
static char key[300], value[700];

static void on_signal(int n)
{
	(void)n;
	stop = 1;
}

static void check(const char *what, const struct nb_err *err)
{
	if (!err || !err->code)
		return;
	fprintf(stderr, "site: %s: %s\n", what, err->text);
	exit(1);
}

static void kept(void *arg, const struct nb_store_reply *r)
{
	(void)arg;
	if (r->err)
		fprintf(stderr, "site: %s\n", r->err->text);
}

static void keep(void *arg)
{
	nb_store_lease_keepalive(store, lease, kept, NULL, NULL);
	nb_http_timer_start(http, 1000, keep, arg);
}

static void put_done(void *arg, const struct nb_store_reply *r)
{
	check("key", r->err);
	puts(arg);
	fflush(stdout);
	keep(NULL);
}

static void granted(void *arg, const struct nb_store_reply *r)
{
	struct nb_store_op put = {
		.kind = NB_STORE_PUT, .key = key, .value = value, .size = strlen(value)
	};
	struct nb_err err = { .code = 0 };

	check("lease", r->err);
	lease = put.lease = r->lease;
	nb_store_do(store, &put, put_done, arg, &err);
	check("key", &err);
}

int main(int argc, char **argv)
{
	struct nb_jobdir place;
	struct nb_relay *relay;
	struct nb_err err = { .code = 0 };
	bool tls = argc > 7;

	if (argc < 5)
		return 64;
	struct nb_relay_config rc = { .place = &place, .at = { .listen = "127.0.0.1" } };
	struct nb_store_config sc = { .endpoints = argv[1] };

	if (tls) {
		sc.tls = (struct nb_http_tls){ argv[5], argv[6], argv[7] };
		rc.at.cacert = argv[5];
		rc.at.cert = argv[6];
		rc.at.key = argv[7];
	}
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	nb_jobdir_open(&place, argv[4], argv[2], NULL, NULL, &err);
	check("job directory", &err);
	nb_relay_start(&relay, &rc, &err);
	check("relay", &err);
	nb_http_new(&http, &err);
	check("loop", &err);
	nb_store_open(&store, http, &sc, &err);
	check("store", &err);
	snprintf(key, sizeof(key), "/ncclbpf/1/%s/site/%s", argv[2], argv[3]);
	snprintf(value, sizeof(value),
		 "{\"host\":\"%s\",\"version\":\"" NCCLBPF_VERSION "\",\"address\":\"%s\"}",
		 argv[3], nb_relay_address(relay));
	nb_store_lease_grant(store, 3600, granted, (void *)(uintptr_t)nb_relay_address(relay),
			     &err);
	check("lease", &err);
	while (!stop)
		nb_http_wait(http, 200);
	nb_store_close(store);
	nb_http_free(http);
	nb_relay_stop(relay);
	nb_jobdir_close(&place);
	return 0;
}
