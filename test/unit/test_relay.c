// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The agent's server for shells, by the requests of a client. The processes
// behind it are sockets of this test.
#include "test/unit/unit.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/job/wire/object.h"
#include "core/job/wire/wire.h"
#include "plugin/relay/relay.h"
#include "plugin/store/http.h"

static struct nb_err err;
static struct nb_jobdir place = { .dirfd = -1, .job = "t" };

/* Nobody may close a descriptor that is not open: it may be another's soon. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	ck_assert_msg(fcntl(fd, F_GETFD) >= 0, "%d is not open", fd);
	return __real_close(fd);
}

/* Did the relay ever parse a line in less memory than the parser writes? */
static bool cramped;

int __real_nb_request_parse(struct nb_request *req, char *line, size_t size, struct nb_err *e);
int __wrap_nb_request_parse(struct nb_request *req, char *line, size_t size, struct nb_err *e);

int __wrap_nb_request_parse(struct nb_request *req, char *line, size_t size, struct nb_err *e)
{
	if (malloc_usable_size(line) <= size) {
		cramped = true;
		return nb_fail(e, NB_E_PROTOCOL, 0, "cramped");
	}
	return __real_nb_request_parse(req, line, size, e);
}

/* ---- a client ---- */

static struct {
	bool done;
	long status;
	struct nb_err err;
	struct nb_buf body;
} got;

static void keep_answer(void *arg, const struct nb_http_reply *r)
{
	(void)arg;
	got.done = true;
	got.status = r->status;
	if (r->err)
		got.err = *r->err;
	nb_buf_bytes(&got.body, nb_buf_text(r->body), r->body->size);
}

/* Send @size bytes to @url and wait for the answer. */
static void post_to(const char *url, const struct nb_http_tls *tls, const char *body, size_t size)
{
	struct nb_http_request q = { .body = body,
				     .body_size = size,
				     .tls = tls,
				     .connect_ms = 5000,
				     .timeout_ms = 60000,
				     .limit = 256 << 20,
				     .done = keep_answer };
	struct nb_http *http;

	nb_buf_fini(&got.body);
	memset(&got, 0, sizeof(got));
	nb_buf_init(&got.body, 0);
	q.url = url;
	ck_assert_int_eq(nb_http_new(&http, &err), 0);
	ck_assert_ptr_nonnull(nb_http_start(http, &q, &err));
	while (!got.done)
		nb_http_wait(http, 1000);
	nb_http_free(http);
}

/* Send @size bytes to @path of @relay and wait for the answer. */
static void post(struct nb_relay *relay, const struct nb_http_tls *tls, const char *path,
		 const char *body, size_t size)
{
	char url[400];

	snprintf(url, sizeof(url), "%s%s", nb_relay_address(relay), path);
	post_to(url, tls, body, size);
}

static bool answer_says(const char *text)
{
	return strstr(nb_buf_text(&got.body), text) != NULL;
}

static struct nb_relay *relay_without_tls(void)
{
	struct nb_relay_config c = { .place = &place, .at = { .listen = "127.0.0.1" } };
	struct nb_relay *r;

	ck_assert_msg(!nb_relay_start(&r, &c, &err), "%s", err.text);
	return r;
}

/* ---- lines ---- */

TEST(a_line_with_zero_bytes_is_refused_within_its_memory)
{
	static const size_t at[] = { 0, 1, 7, 2999 };
	struct nb_relay *r = relay_without_tls();
	char line[3001];

	for (unsigned i = 0; i < 4; i++) {
		memset(line, 'x', 3000);
		line[at[i]] = '\0';
		line[3000] = '\n';
		post(r, NULL, "/v1/line?pid=1", line, sizeof(line));
		ck_assert_msg(answer_says("\"code\":\"protocol\""), "%u: %s", i,
			      nb_buf_text(&got.body));
		ck_assert(!cramped);
		post(r, NULL, "/v1/line?pids=1", line, sizeof(line));
		ck_assert_msg(answer_says("\"code\":\"protocol\""), "%u: %s", i,
			      nb_buf_text(&got.body));
		ck_assert(!cramped);
	}
	/* the same length without a zero byte is parsed */
	line[2999] = 'x';
	post(r, NULL, "/v1/line?pid=1", line, sizeof(line));
	ck_assert_msg(answer_says("\"code\":\"usage\""), "%s", nb_buf_text(&got.body));
	nb_relay_stop(r);
}

TEST(without_tls_the_address_has_a_secret)
{
	struct nb_relay *r = relay_without_tls(), *other = relay_without_tls();
	char *end, wrong[64], line[] = "@1 status\n";

	end = strrchr(nb_relay_address(r), '/');
	ck_assert_uint_eq(strlen(end), 33);
	ck_assert_str_ne(end, strrchr(nb_relay_address(other), '/'));
	nb_relay_stop(other);
	post(r, NULL, "/v1/line?pid=1", line, sizeof(line) - 1);
	ck_assert_msg(!answer_says("secret"), "%s", nb_buf_text(&got.body));
	/* a byte of it is changed, or it is cut, or it is missing */
	snprintf(wrong, sizeof(wrong), "%s/v1/line?pid=1", end);
	for (int i = 0; i < 3; i++) {
		char url[400];

		snprintf(url, sizeof(url), "%.*s%s", (int)(end - nb_relay_address(r)),
			 nb_relay_address(r), i == 2 ? "/v1/line?pid=1" : wrong);
		if (i == 0)
			url[end - nb_relay_address(r) + 32] = 'x';
		if (i == 1)
			url[end - nb_relay_address(r) + 20] = '\0';
		post_to(url, NULL, line, sizeof(line) - 1);
		ck_assert_msg(answer_says("\"code\":\"not_permitted\""), "%d: %s", i,
			      nb_buf_text(&got.body));
		ck_assert_int_eq((int)got.status, 403);
	}
	nb_relay_stop(r);
}

/* ---- several processes ---- */

enum { PEERS = 3 };
static char sockets[] = "/tmp/ncclbpf-relay-XXXXXX";

static void read_to_lf(int fd)
{
	char c = 0;

	while (c != '\n' && read(fd, &c, 1) == 1)
		;
}

static void say(int fd, const char *line)
{
	ck_assert_int_eq(write(fd, line, strlen(line)), (ssize_t)strlen(line));
}

/* A process of which all connections must have said hello before it answers
 * the last one of them first; so with the line. */
static void *slow_process(void *arg)
{
	int at = *(int *)arg, fd[PEERS];

	for (int i = 0; i < PEERS; i++)
		fd[i] = accept(at, NULL, NULL);
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < PEERS; i++)
			read_to_lf(fd[i]);
		for (int i = PEERS; i--;)
			say(fd[i], "{\"ok\":true}\n");
	}
	for (int i = 0; i < PEERS; i++)
		close(fd[i]);
	return NULL;
}

static struct sockaddr_un served = { .sun_family = AF_UNIX };

/* Returns the socket of a process of the job. */
static int serve_process(void)
{
	int at = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(sockets + sizeof(sockets) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(sockets));
	ck_assert(!nb_jobdir_open(&place, sockets, "t", NULL, NULL, &err));
	ck_assert(nb_jobdir_address(&place, "t.0.4.1.sock", served.sun_path));
	ck_assert(!bind(at, (struct sockaddr *)&served, sizeof(served)) && !listen(at, PEERS));
	return at;
}

static void process_ends(int at)
{
	close(at);
	unlink(served.sun_path);
	nb_jobdir_close(&place);
	place = (struct nb_jobdir){ .dirfd = -1, .job = "t" };
	rmdir(sockets);
}

/* A process that answers three lines: without an object, with one, and with one
 * of which the relay can read nothing. */
static void *object_process(void *arg)
{
	static const char reply[] = "{\"ok\":true}\n";

	for (int i = 0; i < PEERS; i++) {
		int fd = accept(*(int *)arg, NULL, NULL), object = -1;
		char path[64];

		read_to_lf(fd);
		say(fd, reply);
		read_to_lf(fd);
		if (i)
			object = nb_wire_object_file("the object", 10);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", object);
		if (i == 2)
			object = open(path, O_WRONLY);
		ck_assert_int_eq(nb_wire_send(fd, reply, strlen(reply), object),
				 (ssize_t)strlen(reply));
		close(fd);
	}
	return NULL;
}

TEST(an_object_is_sent_whole_or_not_at_all)
{
	static const char line[] = "status\n";
	int at = serve_process();
	struct nb_relay *r = relay_without_tls();
	pthread_t process;

	ck_assert(!pthread_create(&process, NULL, object_process, &at));
	post(r, NULL, "/v1/line?pid=4.1", line, sizeof(line) - 1);
	ck_assert_str_eq(nb_buf_text(&got.body), "{\"ok\":true}\n");
	post(r, NULL, "/v1/line?pid=4.1", line, sizeof(line) - 1);
	ck_assert_str_eq(nb_buf_text(&got.body), "{\"ok\":true}\nthe object");
	post(r, NULL, "/v1/line?pid=4.1", line, sizeof(line) - 1);
	ck_assert_msg(answer_says("cannot be read whole"), "%s", nb_buf_text(&got.body));
	ck_assert(!answer_says("\"ok\":true"));
	pthread_join(process, NULL);
	nb_relay_stop(r);
	process_ends(at);
}

TEST(all_processes_are_asked_before_one_has_answered)
{
	static const char line[] = "status\n";
	int at = serve_process();
	struct nb_relay *r;
	pthread_t process;

	ck_assert(!pthread_create(&process, NULL, slow_process, &at));
	r = relay_without_tls();
	post(r, NULL, "/v1/line?pids=4.1,4.1,4.1", line, sizeof(line) - 1);
	pthread_join(process, NULL);
	ck_assert_str_eq(nb_buf_text(&got.body), "4.1 {\"ok\":true}\n"
						 "4.1 {\"ok\":true}\n"
						 "4.1 {\"ok\":true}\n");
	nb_relay_stop(r);
	process_ends(at);
}

/* Two containers with PID 1 each: a bare PID names none of them. */
TEST(equal_pids_are_told_by_their_namespace)
{
	static const char line[] = "status\n";
	char twins[] = "/tmp/ncclbpf-twins-XXXXXX";
	struct sockaddr_un a[2] = { { .sun_family = AF_UNIX }, { .sun_family = AF_UNIX } };
	struct nb_relay *r;
	int at[2];

	ck_assert_ptr_nonnull(mkdtemp(twins));
	ck_assert(!nb_jobdir_open(&place, twins, "t", NULL, NULL, &err));
	for (int i = 0; i < 2; i++) {
		at[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		ck_assert(nb_jobdir_address(&place, i ? "t.-.5.1.sock" : "t.-.4.1.sock",
					    a[i].sun_path));
		ck_assert(!bind(at[i], (struct sockaddr *)&a[i], sizeof(a[i])));
		ck_assert(!listen(at[i], PEERS));
	}
	r = relay_without_tls();
	post(r, NULL, "/v1/line?pid=1", line, sizeof(line) - 1);
	ck_assert_msg(answer_says("2 processes of job t have PID 1") &&
			      answer_says("pid=NAMESPACE.PID"),
		      "%s", nb_buf_text(&got.body));
	close(at[0]);
	post(r, NULL, "/v1/line?pid=4.1", line, sizeof(line) - 1);
	ck_assert_msg(answer_says("refused") || answer_says("no_target"), "%s",
		      nb_buf_text(&got.body));
	post(r, NULL, "/v1/line?pid=6.1", line, sizeof(line) - 1);
	ck_assert_msg(answer_says("no process of job t has PID 1"), "%s", nb_buf_text(&got.body));
	nb_relay_stop(r);
	close(at[1]);
	unlink(a[0].sun_path);
	unlink(a[1].sun_path);
	nb_jobdir_close(&place);
	place = (struct nb_jobdir){ .dirfd = -1, .job = "t" };
	rmdir(twins);
}

/* ---- a server that does not start ---- */

static int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

TEST(a_server_that_does_not_start_closes_its_socket_once)
{
	struct nb_relay_config c = { .place = &place, .at = { .listen = "127.0.0.1" } };
	struct rlimit all, few;
	struct nb_relay *r;
	int fd = next_fd();

	/* libmicrohttpd closes the socket: these are no PEM files */
	c.at.cacert = c.at.cert = c.at.key = "/etc/passwd";
	ck_assert_int_eq(nb_relay_start(&r, &c, &err), NB_E_SETTING);
	ck_assert_int_eq(next_fd(), fd);
	/* it does not: the socket has the last descriptor */
	c.at.cacert = c.at.cert = c.at.key = NULL;
	ck_assert(!getrlimit(RLIMIT_NOFILE, &all));
	few = all;
	few.rlim_cur = (rlim_t)fd + 1;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &few));
	ck_assert_int_eq(nb_relay_start(&r, &c, &err), NB_E_SETTING);
	ck_assert(!setrlimit(RLIMIT_NOFILE, &all));
	ck_assert_int_eq(next_fd(), fd);
}

/* ---- certificates ---- */

static char certs[] = "/tmp/ncclbpf-certs-XXXXXX";

static void shell(const char *command)
{
	char text[1200];

	snprintf(text, sizeof(text), "cd %s && { %s; } >log 2>&1", certs, command);
	ck_assert_msg(!system(text), "%s", text);
}

/* NAME.pem and NAME.key of the authority, with the role control. */
static void certificate(const char *name, const char *extension)
{
	char text[1000];

	snprintf(text, sizeof(text),
		 "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
		 "-nodes -subj /O=test/OU=ncclbpf-control -keyout %s.key "
		 "-out csr && echo '%s' >ext && openssl x509 -req -in csr "
		 "-CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext "
		 "-out %s.pem",
		 name, extension, name);
	shell(text);
}

static struct nb_http_tls tls_of(const char *name)
{
	static char ca[99], cert[99], key[99];

	snprintf(ca, sizeof(ca), "%s/ca.pem", certs);
	snprintf(cert, sizeof(cert), "%s/%s.pem", certs, name);
	snprintf(key, sizeof(key), "%s/%s.key", certs, name);
	return (struct nb_http_tls){ ca, cert, key };
}

TEST(a_certificate_for_servers_alone_is_no_client)
{
	static const struct {
		const char *name, *extension, *says;
	} clients[] = {
		{ "client", "extendedKeyUsage=clientAuth", "\"no_target\"" },
		{ "both", "extendedKeyUsage=clientAuth,serverAuth", "\"no_target\"" },
		{ "any", "basicConstraints=CA:FALSE", "\"no_target\"" },
		{ "server", "extendedKeyUsage=serverAuth", "certificate is refused" },
	};
	struct nb_relay_config c = { .place = &place, .at = { .listen = "127.0.0.1" } };
	static const char line[] = "policy use none\n";
	struct nb_http_tls tls;
	struct nb_relay *r;

	ck_assert_ptr_nonnull(mkdtemp(certs));
	ck_assert(!nb_jobdir_open(&place, certs, "t", NULL, NULL, &err));
	shell("openssl req -x509 -newkey ec -pkeyopt "
	      "ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ca "
	      "-keyout ca.key -out ca.pem");
	certificate("agent", "subjectAltName=IP:127.0.0.1");
	tls = tls_of("agent");
	c.at.cacert = tls.cacert;
	c.at.cert = tls.cert;
	c.at.key = tls.key;
	ck_assert_msg(!nb_relay_start(&r, &c, &err), "%s", err.text);
	for (unsigned i = 0; i < 4; i++) {
		certificate(clients[i].name, clients[i].extension);
		tls = tls_of(clients[i].name);
		post(r, &tls, "/v1/line?pid=1", line, sizeof(line) - 1);
		ck_assert_msg(answer_says(clients[i].says), "%s: %s %s", clients[i].name,
			      got.err.text, nb_buf_text(&got.body));
	}
	nb_relay_stop(r);
	nb_jobdir_close(&place);
	shell("rm -rf \"$PWD\"");
}

UNIT_MAIN("relay")
