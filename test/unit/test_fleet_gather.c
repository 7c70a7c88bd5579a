// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The coordinator's server for links while it closes, and an agent that begins
// to link while it reads the store again.
#include "plugin/agent/gather.h"
#include "plugin/agent/link.h"
#include "test/unit/unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/agent/agent.h"

static struct nb_err err;
static struct nb_http *http;
static struct nb_view view;
static struct nb_gather *gather;
static unsigned unwatched;

void __wrap_nb_agent_follow(struct nb_agent *a, bool whole);
void __wrap_nb_store_unwatch(struct nb_store_watch *w);
int64_t __wrap_nb_own_confirmed(struct nb_own *o, const char *key);
void __wrap_nb_store_set_timeout(struct nb_store *s, unsigned ms);
bool __wrap_nb_procs_busy(const struct nb_procs *p);

void __wrap_nb_store_set_timeout(struct nb_store *s, unsigned ms)
{
	(void)s;
	(void)ms;
}

bool __wrap_nb_procs_busy(const struct nb_procs *p)
{
	(void)p;
	return false;
}

void __wrap_nb_agent_follow(struct nb_agent *a, bool whole)
{
	(void)a;
	(void)whole;
}

void __wrap_nb_store_unwatch(struct nb_store_watch *w)
{
	(void)w;
	unwatched++;
}

int64_t __wrap_nb_own_confirmed(struct nb_own *o, const char *key)
{
	(void)o;
	(void)key;
	return 3;
}

static void put(struct nb_view *v, const char *key, int64_t mod,
		const char *value)
{
	ck_assert(nb_view_put(v, key, value, strlen(value), 1, mod));
}

static void put_site(const char *name, const char *life)
{
	char key[96], value[99];

	snprintf(key, sizeof(key), "site/%s", name);
	snprintf(value, sizeof(value), "{\"life\":\"%s\"}", life);
	put(&view, key, 2, value);
	nb_gather_site(gather, name);
}

static void open_gather(void)
{
	struct nb_listen_config at = { .listen = "127.0.0.1" };

	ck_assert_int_eq(nb_http_new(&http, &err), 0);
	ck_assert_msg(!nb_gather_open(&gather, http, &view, &at, &err), "%s",
		      err.text);
	nb_gather_allow(gather, true);
	put(&view, "order/stage", 10, "{\"n\":1}");
	nb_gather_news(gather, 10, 0);
}

static void close_gather(void)
{
	nb_gather_close(gather);
	gather = NULL;
	nb_view_clear(&view);
	nb_http_free(http);
}

static void turn(int n)
{
	for (int i = 0; i < n; i++) {
		nb_http_wait(http, 5);
		nb_gather_tick(gather);
	}
}

/* ---- a client that sends a request in two parts ---- */

static const char body[] = "{\"have\":10,\"wait\":60000,\"full\":true,"
			   "\"answers\":{\"seen\":{\"at\":1}}}";

/* Connect as site @name and send the headers. Returns the socket. */
static int begin_request(const char *name, size_t size)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	char secret[NB_GATHER_SECRET], life[65], text[400];
	const char *port = strrchr(nb_gather_address(gather), ':');
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), n;

	ck_assert(nb_gather_draw(secret));
	nb_gather_hash(secret, life);
	put_site(name, life);
	to.sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	n = snprintf(text, sizeof(text),
		     "POST /v1/link HTTP/1.1\r\nHost: c\r\nNcclbpf-Site: %s\r\n"
		     "Ncclbpf-Secret: %s\r\nContent-Length: %zu\r\n\r\n",
		     name, secret, size);
	ck_assert_int_eq(write(fd, text, (size_t)n), n);
	turn(10);
	return fd;
}

static void send_body(int fd)
{
	const ssize_t size = sizeof(body) - 1;

	ck_assert_int_eq(write(fd, body, (size_t)size), size);
}

/* Returns the status of the reply, or 0 if the connection ended before it. */
static int status_of(int fd)
{
	char text[4096] = "";
	int status = 0;
	ssize_t n = read(fd, text, sizeof(text) - 1);

	if (n > 0)
		(void)!sscanf(text, "HTTP/1.1 %d", &status);
	return status;
}

START_TEST(a_body_that_comes_when_the_server_closes_does_not_wait)
{
	int fd;

	open_gather();
	fd = begin_request("x", sizeof(body) - 1);
	send_body(fd);
	/* libmicrohttpd would end the process if the request waited now */
	close_gather();
	ck_assert_int_ne(status_of(fd), 200);
	close(fd);
}
END_TEST

START_TEST(a_body_that_comes_after_the_role_is_lost_is_refused)
{
	int fd;

	open_gather();
	fd = begin_request("x", sizeof(body) - 1);
	nb_gather_allow(gather, false);
	send_body(fd);
	turn(10);
	ck_assert_int_eq(status_of(fd), 503);
	/* nor did it leave an answer */
	ck_assert_ptr_null(nb_view_get(&view, "seen/x"));
	ck_assert_uint_eq(nb_gather_sites(gather), 0);
	close(fd);
	close_gather();
}
END_TEST

/* Send a request with a body of @size bytes, which waits for news. */
static int wait_as(const char *name, size_t size)
{
	int fd = begin_request(name, size);
	char *text = malloc(size);
	size_t sent = 0;

	ck_assert_ptr_nonnull(text);
	memset(text, ' ', size);
	memcpy(text, body, sizeof(body) - 1);
	while (sent < size) {
		size_t part = size - sent < 4096 ? size - sent : 4096;
		ssize_t n = write(fd, text + sent, part);

		ck_assert_int_gt(n, 0);
		sent += (size_t)n;
		turn(1);
	}
	free(text);
	return fd;
}

enum { LARGE = 240 << 10, WAITING = NB_GATHER_PENDING / LARGE + 2 };

/* The limit of the sum is for bodies that are not complete. */
START_TEST(a_body_that_was_read_takes_no_room)
{
	static int fd[WAITING];
	char name[16];

	open_gather();
	for (int i = 0; i < WAITING; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		fd[i] = wait_as(name, LARGE);
	}
	nb_gather_news(gather, 11, 0);
	turn(10);
	for (int i = 0; i < WAITING; i++) {
		ck_assert_int_eq(status_of(fd[i]), 200);
		close(fd[i]);
	}
	close_gather();
}
END_TEST

/* ---- an agent ---- */

static void open_agent(struct nb_agent *a)
{
	json_t *o;

	memset(a, 0, sizeof(*a));
	open_gather();
	unwatched = 0;
	a->http = http;
	a->follow = NB_AGENT_FOLLOWING;
	a->order_rev = 5;
	snprintf(a->name, sizeof(a->name), "y");
	snprintf(a->host, sizeof(a->host), "h");
	a->link = nb_link_new(a);
	ck_assert_ptr_nonnull(a->link);
	put_site("y", nb_link_life(a->link));
	o = json_pack("{s:s,s:s,s:s,s:s}", "site", "c", "link",
		      nb_gather_address(gather), "proof",
		      nb_gather_proof(gather), "host", "h");
	ck_assert(nb_view_put_json(&a->view, "order/coordinator", o, 1, 5));
	json_decref(o);
}

static void close_agent(struct nb_agent *a)
{
	nb_link_free(a->link);
	nb_own_free(&a->own);
	nb_view_clear(&a->view);
	close_gather();
}

static void tick_both(struct nb_agent *a)
{
	turn(1);
	nb_link_check(a->link);
	nb_link_tick(a->link);
}

/*
 * follow_read will watch order/, so the link must not begin meanwhile: with two
 * channels, an old record could replace a newer one.
 */
START_TEST(no_link_begins_while_the_agent_reads_the_store)
{
	static struct nb_agent a;

	open_agent(&a);
	/* until the request is on its way, which adds the site y */
	while (!nb_gather_sites(gather))
		tick_both(&a);
	a.follow = NB_AGENT_READING;
	for (int i = 0; i < 20; i++)
		tick_both(&a);
	ck_assert(!nb_link_on(a.link));
	ck_assert_uint_eq(unwatched, 0);
	ck_assert_int_eq(a.order_rev, 5);
	/* and it begins later */
	a.follow = NB_AGENT_FOLLOWING;
	while (!nb_link_on(a.link))
		tick_both(&a);
	ck_assert_uint_eq(unwatched, 1);
	ck_assert_int_eq(a.order_rev, 10);
	close_agent(&a);
}
END_TEST

UNIT_MAIN(
	"fleet_gather",
	tcase_add_test(tc,
		       a_body_that_comes_when_the_server_closes_does_not_wait);
	tcase_add_test(tc, a_body_that_comes_after_the_role_is_lost_is_refused);
	tcase_add_test(tc, a_body_that_was_read_takes_no_room);
	tcase_add_test(tc, no_link_begins_while_the_agent_reads_the_store);)
