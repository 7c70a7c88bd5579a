// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The store's client without a store: base64, what requests look like, and
// replies of a server that is not etcd, lies, cuts off or says nothing.
#include "test/unit/unit.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/store/base64.h"
#include "plugin/store/codec.h"
#include "test/unit/store_both.h"

static struct nb_err err;
static struct got g;

/* ---- a server that answers each connection with the same bytes ---- */

static struct {
	int fd;
	unsigned port, served;
	unsigned busy; /* so many answers are that there is no leader */
	const char *bytes;
	size_t size;
	bool silent;
	pthread_t thread;
	char in[65536]; /* the last request */
} fake;

#define NO_LEADER                                                     \
	"HTTP/1.1 503 x\r\n\r\n{\"error\":\"etcdserver: no leader\"," \
	"\"code\":14}"

static void *serve(void *arg)
{
	char *in = fake.in;
	int fd;

	(void)arg;
	while ((fd = accept(fake.fd, NULL, NULL)) >= 0) {
		(void)!read(fd, in, sizeof(fake.in) - 1);
		if (fake.served++ < fake.busy)
			(void)!write(fd, NO_LEADER, sizeof(NO_LEADER) - 1);
		else if (!fake.silent)
			(void)!write(fd, fake.bytes, fake.size);
		else
			(void)!read(fd, in, sizeof(fake.in) - 1); /* until it closes */
		close(fd);
	}
	return NULL;
}

static struct nb_store *start_fake_of(void *(*how)(void *), const char *bytes, size_t size)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);
	/* short where the limit ends the request, and one that no busy machine reaches elsewhere */
	struct nb_store_config c = { .timeout_ms = !bytes		       ? 700
						   : !strcmp(bytes, NO_LEADER) ? 3000
									       : 60000 };
	struct nb_store *s;
	char url[64];

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fake.fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(fake.fd, (struct sockaddr *)&a, n), 0);
	ck_assert_int_eq(listen(fake.fd, 16), 0);
	getsockname(fake.fd, (struct sockaddr *)&a, &n);
	fake.bytes = bytes;
	fake.size = size;
	fake.silent = !bytes;
	fake.served = 0;
	fake.port = ntohs(a.sin_port);
	ck_assert_int_eq(pthread_create(&fake.thread, NULL, how, NULL), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(a.sin_port));
	c.endpoints = url;
	ck_assert_int_eq(nb_http_new(&http, &err), 0);
	ck_assert_int_eq(nb_store_open(&s, http, &c, &err), 0);
	return s;
}

static struct nb_store *start_fake(const char *bytes, size_t size)
{
	return start_fake_of(serve, bytes, size);
}

static void stop_fake(struct nb_store *s)
{
	nb_store_close(s);
	nb_http_free(http);
	shutdown(fake.fd, SHUT_RDWR);
	pthread_join(fake.thread, NULL);
	close(fake.fd);
}

/* ---- which authorities curl gets ---- */

static struct {
	unsigned capath, cainfo; /* calls */
	const char *path;	 /* the last CAPATH */
} given;

#undef curl_easy_setopt
CURLcode __real_curl_easy_setopt(CURL *e, CURLoption o, ...);
CURLcode __wrap_curl_easy_setopt(CURL *e, CURLoption o, ...);

/* Each option has one argument of a pointer's size. */
CURLcode __wrap_curl_easy_setopt(CURL *e, CURLoption o, ...)
{
	va_list ap;
	void *v;

	va_start(ap, o);
	v = va_arg(ap, void *);
	va_end(ap);
	if (o == CURLOPT_CAPATH) {
		given.capath++;
		given.path = v;
	}
	given.cainfo += o == CURLOPT_CAINFO;
	return __real_curl_easy_setopt(e, o, v);
}

#define OK_HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define HEADER "\"header\":{\"revision\":\"7\"}"

/* replies, and the code that a write gets for them */
static const struct {
	const char *bytes;
	int code;
	bool unknown;
} replies[] = {
	{ OK_HEAD "{" HEADER ",\"succeeded\":true}", 0, false },
	{ OK_HEAD "", NB_E_PROTOCOL, true },
	{ OK_HEAD "[]", NB_E_PROTOCOL, true },
	{ OK_HEAD "{}", NB_E_PROTOCOL, true },
	{ OK_HEAD "{\"header\":5}", NB_E_PROTOCOL, true },
	{ OK_HEAD "{\"header\":{\"revision\":\"x\"}}", NB_E_PROTOCOL, true },
	{ OK_HEAD "{\"header\":{\"revision\":\"-1\"}}", NB_E_PROTOCOL, true },
	{ OK_HEAD "{\"header\":{\"revision\":\"9223372036854775808\"}}", NB_E_PROTOCOL, true },
	{ OK_HEAD "{" HEADER ",\"succeeded\":\"yes\"}", NB_E_PROTOCOL, true },
	{ OK_HEAD "{" HEADER ",\"responses\":[5]}", NB_E_PROTOCOL, true },
	{ OK_HEAD "{" HEADER ",\"responses\":[{\"response_range\":{\"kvs\":"
		  "[{\"key\":\"!!!!\"}]}}]}",
	  NB_E_PROTOCOL, true },
	{ OK_HEAD "{" HEADER ",\"responses\":[{\"response_range\":{\"kvs\":"
		  "[{\"value\":\"QQ==\"}]}}]}",
	  NB_E_PROTOCOL, true },
	{ OK_HEAD "{" HEADER ",\"responses\":[{\"response_range\":{\"kvs\":"
		  "[{\"key\":\"QQ==\",\"mod_revision\":{}}]}}]}",
	  NB_E_PROTOCOL, true },
	{ "HTTP/1.1 400 Bad Request\r\n\r\nCommonName of client sending", NB_E_PROTOCOL, false },
	{ "HTTP/1.1 502 Bad Gateway\r\n\r\n<html>proxy</html>", NB_E_PROTOCOL, true },
	{ "HTTP/1.1 503 x\r\n\r\n{\"error\":\"etcdserver: request timed out\","
	  "\"code\":14}",
	  NB_E_TIMEOUT, true },
	{ NO_LEADER, NB_E_STORE, false },
	{ "HTTP/1.1 429 x\r\n\r\n{\"error\":\"etcdserver: mvcc: database space "
	  "exceeded\",\"code\":8}",
	  NB_E_FULL, false },
	{ "HTTP/1.1 400 x\r\n\r\n{\"error\":\"etcdserver: request is too "
	  "large\",\"code\":3}",
	  NB_E_LIMIT, false },
	{ "not HTTP at all", NB_E_STORE, true },
	{ "", NB_E_STORE, true },
	{ NULL, NB_E_TIMEOUT, true },
};

TEST_EACH(replies_of_a_server_that_is_not_etcd, 0, (int)(sizeof(replies) / sizeof(replies[0])))
{
	const char *bytes = replies[_i].bytes;
	struct nb_store *s = start_fake(bytes, bytes ? strlen(bytes) : 0);

	const struct nb_store_compare none = { .key = "/a" };
	const struct nb_store_op put = {
		.kind = NB_STORE_PUT, .key = "/a", .value = "1", .size = 1
	};
	const struct nb_store_txn txn = { &none, 1, &put, 1, NULL, 0 };

	WAIT(g, nb_store_txn(s, &txn, keep_reply, &g, &err));
	ck_assert_msg(g.err.code == replies[_i].code, "%d: %s: %d: %s", _i, bytes, g.err.code,
		      g.err.text);
	ck_assert_int_eq(g.unknown, replies[_i].unknown);
	if (replies[_i].code)
		ck_assert_ptr_nonnull(strstr(g.err.text, "http://127.0.0.1:"));
	/* a write that may have happened is not repeated */
	if (g.unknown)
		ck_assert_uint_eq(fake.served, 1);
	stop_fake(s);
}

/* A put without conditions is a transaction of one operation. */
TEST(a_put_alone)
{
	static const char reply[] = OK_HEAD "{" HEADER ",\"succeeded\":true}";
	struct nb_store *s = start_fake(reply, sizeof(reply) - 1);

	WAIT(g, nb_store_put(s, "/a", "1", 1, 5, keep_reply, &g, &err));
	ck_assert_int_eq(g.err.code, 0);
	ck_assert(g.succeeded);
	ck_assert_int_eq(g.revision, 7);
	ck_assert_ptr_nonnull(strstr(fake.in, "POST /v3/kv/txn HTTP/1.1\r\n"));
	ck_assert_ptr_nonnull(strstr(fake.in, "{\"request_put\":{\"key\":\"L2E=\","
					      "\"value\":\"MQ==\",\"lease\":\"5\"}}"));
	stop_fake(s);
	s = start_fake(OK_HEAD "{}", sizeof(OK_HEAD "{}") - 1);
	WAIT(g, nb_store_put(s, "/a", "1", 1, 0, keep_reply, &g, &err));
	ck_assert_int_eq(g.err.code, NB_E_PROTOCOL);
	ck_assert(g.unknown);
	stop_fake(s);
}

/*
 * A longer time limit is not one of keepalives: a lease would end while one
 * waits for a member that does not answer.
 */
TEST(a_keepalive_waits_no_longer)
{
	struct nb_store *s = start_fake(NULL, 0);
	struct got other = { .done = false };

	nb_store_set_timeout(s, 15000);
	ck_assert_int_eq(nb_store_get(s, "/a", keep_reply, &other, &err), 0);
	WAIT(g, nb_store_lease_keepalive(s, 7, keep_reply, &g, &err));
	ck_assert_int_eq(g.err.code, NB_E_TIMEOUT);
	ck_assert(!other.done);
	stop_fake(s);
}

/* Any bytes in the place of a good reply: never more than an error. */
TEST(damaged_replies)
{
	static const char good[] = "{" HEADER ",\"succeeded\":true,\"responses\":[{\"response_"
				   "range\":{" HEADER ",\"kvs\":[{\"key\":\"L2E=\",\"create_"
				   "revision\":\"2\",\"mod_revision\":\"7\",\"value\":\"MQ==\"}],"
				   "\"count\":\"1\"}}]}";
	static const char line[] = "{\"result\":{" HEADER ",\"events\":[{\"type\":\"DELETE\","
				   "\"kv\":{\"key\":\"L2E=\",\"mod_revision\":\"7\"}}]}}";
	unsigned accepted = 0, refused = 0;
	char text[512];

	for (unsigned at = 0; at < sizeof(good) - 1; at++)
		for (unsigned c = 0; c < 256; c += 5) {
			bool watch = c & 1 && at < sizeof(line) - 1;
			const char *from = watch ? line : good;
			size_t n = strlen(from);
			struct nb_store_decoded d;
			int grpc;

			memcpy(text, from, n);
			text[at] = (char)c;
			nb_store_decoded_init(&d);
			int rc =
				nb_store_decode(&d, watch ? NB_STORE_FORM_WATCH : NB_STORE_FORM_TXN,
						text, n, "e", &err);
			accepted += !rc;
			refused += rc == NB_E_PROTOCOL;
			ck_assert(!rc || rc == NB_E_PROTOCOL);
			nb_store_decoded_fini(&d);
			nb_store_decode_error(text, n, 500, "e", &grpc, &err);
		}
	ck_assert_uint_gt(accepted, 100);
	ck_assert_uint_gt(refused, accepted);
}

/* A cut token would be refused by the store, with a misleading error. */
TEST(a_token_is_whole_or_refused)
{
	char text[NB_STORE_TOKEN_SIZE + 100], token[NB_STORE_TOKEN_SIZE + 1];
	struct nb_store_decoded d;

	for (size_t n = NB_STORE_TOKEN_SIZE - 1; n <= NB_STORE_TOKEN_SIZE; n++) {
		bool fits = n < NB_STORE_TOKEN_SIZE;

		memset(token, 't', n);
		token[n] = '\0';
		snprintf(text, sizeof(text), "{" HEADER ",\"token\":\"%s\"}", token);
		nb_store_decoded_init(&d);
		ck_assert_int_eq(
			nb_store_decode(&d, NB_STORE_FORM_AUTH, text, strlen(text), "here", &err),
			fits ? 0 : NB_E_PROTOCOL);
		ck_assert(!fits || !strcmp(d.token, token));
		nb_store_decoded_fini(&d);
	}
	ck_assert_msg(strstr(err.text, "4095 bytes"), "%s", err.text);
}

TEST(base64_there_and_back)
{
	struct nb_buf text, bytes;
	uint8_t in[300];

	for (unsigned n = 0; n < sizeof(in); n++)
		in[n] = (uint8_t)(n * 7 + 3);
	for (unsigned n = 0; n < sizeof(in); n++) {
		nb_buf_init(&text, 0);
		nb_buf_init(&bytes, 0);
		nb_base64_put(&text, in, n);
		ck_assert_uint_eq(text.size, (n + 2) / 3 * 4);
		ck_assert_int_eq(nb_base64_get(&bytes, nb_buf_text(&text), text.size), 0);
		ck_assert_uint_eq(bytes.size, n);
		ck_assert_int_eq(n && memcmp(bytes.data, in, n), 0);
		nb_buf_fini(&text);
		nb_buf_fini(&bytes);
	}
	static const char *const bad[] = { "A",	   "AA",   "AAA",  "A===", "====",    "AAA*",
					   "AB==", "AAB=", "A=AA", "AA=A", "AA==AAAA" };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		nb_buf_init(&bytes, 0);
		ck_assert_msg(nb_base64_get(&bytes, bad[i], strlen(bad[i])) == -1, "%s", bad[i]);
		nb_buf_fini(&bytes);
	}
}

TEST(a_prefix_ends_before_its_successor)
{
	struct nb_buf out;

	nb_buf_init(&out, 0);
	/* "/a/" to "/a0", base64 of each */
	ck_assert_int_eq(nb_store_encode_watch(&out, "/a/", 5, &err), 0);
	ck_assert_str_eq(nb_buf_text(&out), "{\"create_request\":{\"key\":\"L2Ev\",\"range_end\":"
					    "\"L2Ew\",\"start_revision\":\"5\"}}");
	nb_buf_clear(&out);
	/* a byte that has no successor, and no prefix at all */
	ck_assert_int_eq(nb_store_encode_watch(&out, "a\xff", 0, &err), 0);
	ck_assert_ptr_nonnull(strstr(nb_buf_text(&out), "\"range_end\":\"Yg==\""));
	nb_buf_clear(&out);
	ck_assert_int_eq(nb_store_encode_watch(&out, "", 0, &err), 0);
	ck_assert_ptr_nonnull(strstr(nb_buf_text(&out), "\"key\":\"AA==\",\"range_end\":\"AA==\""));
	nb_buf_fini(&out);
}

TEST(own_authorities_replace_those_of_the_system)
{
	static const char *const cacert[] = { NULL, "", "/etc/hostname" };
	struct nb_http_request q = { .url = "https://127.0.0.1:1/", .timeout_ms = 100 };

	ck_assert_int_eq(nb_http_new(&http, &err), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct nb_http_tls tls = { .cacert = cacert[i] };

		memset(&given, 0, sizeof(given));
		given.path = "the system's";
		q.tls = &tls;
		ck_assert_ptr_nonnull(nb_http_start(http, &q, &err));
		ck_assert_uint_eq(given.cainfo, i == 2);
		ck_assert_uint_eq(given.capath, i == 2);
		if (i == 2)
			ck_assert_ptr_null(given.path);
	}
	nb_http_free(http);
}

TEST(a_password_is_not_sent_in_the_clear)
{
	static const struct {
		const char *urls;
		int rc;
	} cases[] = {
		{ "http://store:2379", NB_E_SETTING },
		{ "http://127.0.0.1.example.org:1", NB_E_SETTING },
		{ "http://127.0.0.1:2@store:1", NB_E_SETTING },
		{ "http://localhost.example.org", NB_E_SETTING },
		{ "https://store:2379,http://store2", NB_E_SETTING },
		{ "https://store:2379", 0 },
		{ "http://127.0.0.1:2379", 0 },
		{ "http://[::1]:2379", 0 },
		{ "http://localhost", 0 },
		{ "https://store,http://LOCALHOST:1", 0 },
	};
	char path[] = "/tmp/ncclbpf-password-XXXXXX"; /* mode 600 */
	int fd = mkstemp(path);
	struct nb_store *s;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "secret", 6), 6);
	ck_assert_int_eq(nb_http_new(&http, &err), 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nb_store_config c = { .endpoints = cases[i].urls,
					     .user = "u",
					     .password_file = path };

		ck_assert_msg(nb_store_open(&s, http, &c, &err) == cases[i].rc, "%s",
			      cases[i].urls);
		if (cases[i].rc)
			ck_assert_ptr_nonnull(strstr(err.text, "unencrypted"));
		nb_store_close(s);
		/* without a user nothing secret is sent */
		c.user = NULL;
		ck_assert_int_eq(nb_store_open(&s, http, &c, &err), 0);
		nb_store_close(s);
	}
	nb_http_free(http);
	close(fd);
	unlink(path);
}

TEST(configurations_that_are_refused)
{
	static const struct {
		struct nb_store_config c;
		const char *says;
	} bad[] = {
		{ { .endpoints = "" }, "no endpoint" },
		{ { .endpoints = "host:2379" }, "http://" },
		{ { .endpoints = "http://a:1,ftp://b" }, "ftp://b" },
		{ { .endpoints = "http://a b" }, "space" },
		{ { .endpoints = "http://a", .tls = { .cert = "/x" } }, "without its key" },
		{ { .endpoints = "http://a", .tls = { .cacert = "/none" } }, "/none" },
		{ { .endpoints = "http://a", .user = "u" }, "password file" },
		{ { .endpoints = "http://a", .user = "u", .password_file = "/etc/passwd" },
		  "mode 644" },
	};
	struct nb_store *s;

	ck_assert_int_eq(nb_http_new(&http, &err), 0);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(nb_store_open(&s, http, &bad[i].c, &err), NB_E_SETTING);
		ck_assert_ptr_null(s);
		ck_assert_msg(strstr(err.text, bad[i].says), "%s", err.text);
	}
	nb_http_free(http);
}

/*
 * The only member accepts no connection for longer than one attempt lasts:
 * its queue is full, because it is busy.
 */
TEST(a_busy_member_is_asked_again)
{
	static const char answer[] = OK_HEAD "{" HEADER ",\"succeeded\":true}";
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct nb_store_config c = { .timeout_ms = 20000 };
	struct nb_store_op put = { .kind = NB_STORE_PUT, .key = "/k", .value = "1", .size = 1 };
	struct nb_store_compare none = { .key = "/k" };
	struct nb_store_txn txn = { &none, 1, &put, 1, NULL, 0 };
	socklen_t n = sizeof(a);
	struct nb_store *s;
	uint64_t end;
	char url[64];
	int queued[2];

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fake.fd = socket(AF_INET, SOCK_STREAM, 0);
	fake.bytes = answer;
	fake.size = sizeof(answer) - 1;
	fake.silent = false;
	ck_assert_int_eq(bind(fake.fd, (struct sockaddr *)&a, n), 0);
	ck_assert_int_eq(listen(fake.fd, 0), 0);
	getsockname(fake.fd, (struct sockaddr *)&a, &n);
	for (int i = 0; i < 2; i++) {
		queued[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(queued[i], (struct sockaddr *)&a, n);
	}
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(a.sin_port));
	c.endpoints = url;
	ck_assert_int_eq(nb_http_new(&http, &err), 0);
	ck_assert_int_eq(nb_store_open(&s, http, &c, &err), 0);
	memset(&g, 0, sizeof(g));
	ck_assert_int_eq(nb_store_txn(s, &txn, keep_reply, &g, &err), 0);
	for (end = nb_http_now_ms() + 2000; nb_http_now_ms() < end;)
		nb_http_wait(http, 100);
	ck_assert_msg(!g.done, "%s", g.err.text);
	for (int i = 0; i < 2; i++)
		close(queued[i]);
	ck_assert_int_eq(pthread_create(&fake.thread, NULL, serve, NULL), 0);
	ck_assert(until(&g.done));
	ck_assert_msg(!g.err.code, "%s", g.err.text);
	ck_assert(g.succeeded);
	stop_fake(s);
}

/* Answers one request of a connection, takes the next one and ends the connection. */
static void *serve_twice(void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n"
				     "{" HEADER ",\"succeeded\":true}";
	int fd;

	(void)arg;
	for (; (fd = accept(fake.fd, NULL, NULL)) >= 0; close(fd))
		for (int i = 0; i < 2 && read(fd, fake.in, sizeof(fake.in) - 1) > 0; i++) {
			fake.served++;
			if (!i && write(fd, answer, sizeof(answer) - 1) < 0)
				break;
		}
	return NULL;
}

/*
 * A connection that is used again ends when the member has the whole request. libcurl would send
 * it once more on a new one, where the condition of a transaction that was carried out fails.
 */
TEST(a_transaction_is_sent_once)
{
	struct nb_store_op put = { .kind = NB_STORE_PUT, .key = "/k", .value = "1", .size = 1 };
	struct nb_store_compare none = { .key = "/k" };
	struct nb_store_txn txn = { &none, 1, &put, 1, NULL, 0 };
	struct nb_store *s = start_fake_of(serve_twice, "", 0);

	WAIT(g, nb_store_txn(s, &txn, keep_reply, &g, &err));
	ck_assert_msg(!g.err.code && g.succeeded, "%s", g.err.text);
	WAIT(g, nb_store_txn(s, &txn, keep_reply, &g, &err));
	ck_assert_int_eq(g.err.code, NB_E_STORE);
	ck_assert(g.unknown);
	ck_assert_uint_eq(fake.served, 2);
	stop_fake(s);
}

/*
 * One member elects a leader, the other is dead. Which of them is asked last
 * must not decide: the request goes on until its time is over.
 */
TEST(an_election_beside_a_dead_member_is_waited_for)
{
	static const char answer[] = OK_HEAD "{" HEADER ",\"succeeded\":true}";
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct nb_store_config c = { .timeout_ms = 20000 };
	socklen_t n = sizeof(a);
	int dead = socket(AF_INET, SOCK_STREAM, 0);
	struct nb_store *s = start_fake(answer, sizeof(answer) - 1);
	char urls[128];

	nb_store_close(s);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	/* bound, so that no other program has the port; it does not listen */
	ck_assert_int_eq(bind(dead, (struct sockaddr *)&a, n), 0);
	getsockname(dead, (struct sockaddr *)&a, &n);
	n = (socklen_t)snprintf(urls, sizeof(urls), "http://127.0.0.1:%u,", fake.port);
	snprintf(urls + n, sizeof(urls) - n, "http://127.0.0.1:%u", ntohs(a.sin_port));
	c.endpoints = urls;
	fake.busy = 3;
	ck_assert_int_eq(nb_store_open(&s, http, &c, &err), 0);
	WAIT(g, nb_store_put(s, "/k", "1", 1, 0, keep_reply, &g, &err));
	ck_assert_msg(!g.err.code, "%s", g.err.text);
	ck_assert_uint_eq(fake.served, 4);
	fake.busy = 0;
	stop_fake(s);
	close(dead);
}

UNIT_MAIN("store")
