// SPDX-License-Identifier: MIT
/*
 * The agent's HTTP server. It uses libmicrohttpd with a thread for each
 * connection, because each request waits for processes of this site. The peer's
 * rights are checked first, and the role that a line needs is checked before a
 * process gets the line.
 */
#include "plugin/relay/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <microhttpd.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/job/wire/object.h"
#include "core/job/wire/wire.h"
#include "plugin/relay/local.h"
#include "plugin/relay/peer.h"
#include "plugin/runtime/clock.h"

enum {
	CONNECTIONS = 64,
	IDLE_S = 60,
	STACK = 256 << 10,
	/* size limit of a body, which is a line and an object */
	BODY_SIZE = (8 << 20) + NB_WIRE_LINE,
	REPLY_MS = 30000,
	MOST_MS = 24 * 3600 * 1000,
	/*
	 * size limit of the replies of all processes together; errors do not
	 * count
	 */
	REPLIES_SIZE = 64 << 20,
	/* tenths of the asker's limit: connections, the answers to hello, all */
	CONNECT_TENTHS = 2,
	HELLO_TENTHS = 5,
	REPLY_TENTHS = 9,
	/* interval of line feeds, which detect a dead client */
	STREAM_MS = 1000,
	PROCESSES = 512,
	/*
	 * number of random bytes in a URL's path, which serve in place of a
	 * certificate
	 */
	SECRET = 16
};

struct nb_relay {
	const struct nb_jobdir *place;
	struct MHD_Daemon *daemon;
	struct nb_listen_pem pem;
	/*
	 * secret path without TLS: "/" and SECRET bytes in hexadecimal, which
	 * precede each path
	 */
	char secret[2 + 2 * SECRET];
	char address[300 + 2 * SECRET];
};

/* An HTTP request whose body has not arrived completely. */
struct exchange {
	struct nb_relay *relay;
	bool control;
	struct nb_err refused;
	struct nb_buf body;
	uint64_t began_ns;
	uint64_t limit_ms; /* ms= of the request: time limit of the shell that asks; 0: none */
};

/*
 * Returns when a wait of at most @ms ends. After @tenths of the asker's limit it ends in any
 * case, so that one process that does not answer takes no other's reply away.
 */
static uint64_t wait_until(const struct exchange *x, int ms, unsigned tenths)
{
	uint64_t until = nb_local_until(ms), end = x->began_ns + x->limit_ms * 100000 * tenths;

	return x->limit_ms && end < until ? end : until;
}

static int late(const struct exchange *x, struct nb_err *err)
{
	return nb_fail(err, NB_E_TIMEOUT, 0, "the process did not answer within %llu ms",
		       (unsigned long long)(nb_clock_system() - x->began_ns) / 1000000);
}

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, struct nb_buf *body,
			     size_t object_size)
{
	struct MHD_Response *r;
	enum MHD_Result rc;
	char size[32];
	size_t n;
	char *p = nb_buf_take(body, &n);

	if (!p)
		return MHD_NO;
	r = MHD_create_response_from_buffer(n, p, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(p);
		return MHD_NO;
	}
	MHD_add_response_header(r, "Content-Type", "application/x-ndjson");
	if (object_size) {
		snprintf(size, sizeof(size), "%zu", object_size);
		MHD_add_response_header(r, "Ncclbpf-Object", size);
	}
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result reply_error(struct MHD_Connection *c, const struct nb_request *req,
				   const struct nb_err *err)
{
	struct nb_buf out;
	unsigned status = err->code == NB_E_PERM ? MHD_HTTP_FORBIDDEN : MHD_HTTP_OK;

	nb_buf_init(&out, 0);
	nb_reply_error(&out, req, err, NULL, NULL);
	return reply(c, status, &out, 0);
}

struct list {
	const struct nb_jobdir *place;
	struct nb_json *j;
};

/* Write {"rank":…,"pid":…,"ns":…} if a process serves the socket @name. */
static bool list_process(void *arg, const char *name, const struct nb_jobdir_process *of)
{
	const struct list *l = arg;

	if (nb_jobdir_served(l->place, name) != 1)
		return true;
	nb_json_obj(l->j);
	nb_json_key(l->j, "rank");
	if (of->rank >= 0)
		nb_json_i64(l->j, of->rank);
	else
		nb_json_null(l->j);
	nb_json_ki64(l->j, "pid", of->pid);
	nb_json_ku64(l->j, "ns", of->ns);
	nb_json_end_obj(l->j);
	return true;
}

static enum MHD_Result reply_processes(struct MHD_Connection *c, const struct nb_relay *relay)
{
	struct nb_err err = { .code = 0 };
	struct nb_buf out;
	struct nb_json j;

	nb_buf_init(&out, 0);
	nb_json_init(&j, &out);
	nb_json_obj(&j);
	nb_json_kstr(&j, "job", relay->place->job);
	nb_json_karr(&j, "processes");
	if (nb_local_each(relay->place, list_process, &(struct list){ relay->place, &j }, &err)) {
		nb_buf_fini(&out);
		return reply_error(c, NULL, &err);
	}
	nb_json_end_arr(&j);
	nb_json_end_obj(&j);
	nb_buf_char(&out, '\n');
	return reply(c, MHD_HTTP_OK, &out, 0);
}

/* A parsed request line. The text is a copy. */
struct lines {
	struct nb_request req;
	char *copy;
	size_t size; /* size of the line with its line feed */
	int object;  /* memory file with the request's object, or -1 */
	bool follow;
};

static void lines_free(struct lines *l)
{
	free(l->copy);
	if (l->object >= 0)
		close(l->object);
}

static int read_line(struct MHD_Connection *c, struct exchange *x, struct lines *l,
		     struct nb_err *err)
{
	const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Ncclbpf-Object");
	size_t size = given ? strtoul(given, NULL, 10) : 0;
	const char *p = nb_buf_text(&x->body);
	const char *lf = memchr(p, '\n', x->body.size);
	int rc;

	if (!lf || lf - p >= NB_WIRE_LINE)
		return nb_fail(err, NB_E_PROTOCOL, 0,
			       "the body must start with a request line of at most %d bytes "
			       "and a line feed",
			       NB_WIRE_LINE);
	l->size = (size_t)(lf - p) + 1;
	if (x->body.size - l->size != size)
		return nb_fail(err, NB_E_PROTOCOL, 0,
			       "%zu bytes follow the line, the header Ncclbpf-Object says %zu",
			       x->body.size - l->size, size);
	/*
	 * strndup would stop at a zero byte, which the parser must see and
	 * refuse
	 */
	l->copy = malloc(l->size);
	if (!l->copy)
		return nb_fail(err, NB_E_NOMEM, 0, "relay: no memory");
	memcpy(l->copy, p, l->size);
	rc = nb_request_parse(&l->req, l->copy, l->size - 1, err);
	if (rc)
		return rc;
	if (l->req.spec->role == NB_ROLE_CONTROL && !x->control) {
		nb_fail(err, NB_E_PERM, 0,
			"%s needs the role control: "
			"the client shows no certificate with the unit ncclbpf-control",
			l->req.spec->words);
		return nb_hint(err, "on each host, without NCCLBPF_FLEET and as the job's user, "
				    "no certificate is needed");
	}
	l->follow = nb_request_yes(&l->req, "follow", false);
	if (size)
		l->object = nb_wire_object_file(lf + 1, size);
	return !size || l->object >= 0
		       ? 0
		       : nb_fail(err, NB_E_IO, 0, "memory file: %s", strerror(errno));
}

/* Send a line to one process, and answer with its reply line. */
static enum MHD_Result answer_once(struct MHD_Connection *c, const struct exchange *x,
				   const struct lines *in, struct nb_local *l)
{
	struct nb_err err = { .code = 0 };
	struct nb_buf out;
	size_t size, object_size;
	void *object;
	int rc = nb_local_line(l, wait_until(x, REPLY_MS, REPLY_TENTHS), &size, &err);

	if (!rc)
		late(x, &err);
	/* a part of the object would be another object */
	if (rc != 1 || nb_local_object(l, &object, &object_size, BODY_SIZE, &err))
		return reply_error(c, &in->req, &err);
	nb_buf_init(&out, 0);
	nb_buf_bytes(&out, l->in.data, size);
	nb_buf_bytes(&out, object, object_size);
	free(object);
	return reply(c, MHD_HTTP_OK, &out, object_size);
}

static ssize_t stream_read(void *arg, uint64_t at, char *out, size_t room)
{
	struct nb_local *l = arg;
	size_t size;
	int rc = nb_local_line(l, nb_local_until(STREAM_MS), &size, NULL);

	(void)at;
	if (rc < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	/*
	 * an empty line, which the client ignores, shows that the stream lives
	 */
	if (!rc) {
		*out = '\n';
		return 1;
	}
	if (size > room)
		size = room;
	memcpy(out, l->in.data, size);
	nb_local_drop(l, size);
	return (ssize_t)size;
}

static void stream_free(void *arg)
{
	nb_local_close(arg);
	free(arg);
}

/* Answer with a stream of lines. Takes ownership of @l. */
static enum MHD_Result answer_stream(struct MHD_Connection *c, struct nb_local *l)
{
	struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 65536,
								   stream_read, l, stream_free);
	enum MHD_Result rc;

	if (!r) {
		stream_free(l);
		return MHD_NO;
	}
	MHD_add_response_header(r, "Content-Type", "application/x-ndjson");
	rc = MHD_queue_response(c, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return rc;
}

static int not_greeted(struct nb_err *err)
{
	return nb_fail(err, NB_E_TIMEOUT, 0,
		       "the process did not answer hello in time: it may be stopped");
}

static int greeted(struct nb_local *l, uint64_t until, struct nb_err *err)
{
	int rc = nb_local_greeted(l, until, err);

	return rc > 0 ? 0 : rc ? rc : not_greeted(err);
}

static enum MHD_Result answer_line(struct MHD_Connection *c, struct exchange *x, const char *pid)
{
	struct lines in = { .object = -1 };
	struct nb_err err = { .code = 0 };
	struct nb_local_id who;
	struct nb_local *l = calloc(1, sizeof(*l));
	enum MHD_Result result;
	int rc;

	if (!l) {
		nb_fail(&err, NB_E_NOMEM, 0, "relay: no memory");
		return reply_error(c, &in.req, &err);
	}
	l->fd = l->object = -1;
	rc = read_line(c, x, &in, &err);
	nb_local_id_parse(&who, pid);
	if (!rc)
		rc = nb_local_begin(l, x->relay->place, &who,
				    wait_until(x, NB_LOCAL_CONNECT_MS, CONNECT_TENTHS), &err);
	if (!rc)
		rc = greeted(l, wait_until(x, NB_LOCAL_HELLO_MS, HELLO_TENTHS), &err);
	if (!rc)
		rc = nb_local_send(l, nb_buf_text(&x->body), in.size, in.object, &err);
	if (!rc && in.follow) {
		lines_free(&in);
		return answer_stream(c, l);
	}
	result = rc ? reply_error(c, &in.req, &err) : answer_once(c, x, &in, l);
	stream_free(l);
	lines_free(&in);
	return result;
}

struct one {
	struct nb_local_id who;
	struct nb_local local;
	struct nb_err err;
};

static size_t list_pids(const char *text, struct one *all)
{
	size_t n = 0;

	while (n < PROCESSES && *text) {
		const char *end = nb_local_id_parse(&all[n].who, text);

		if (end == text)
			break;
		n++;
		text = *end == ',' ? end + 1 : end;
	}
	return n;
}

/* Try to send the line to a process. Returns false if it has not answered hello yet. */
static bool ask_one(struct one *o, const struct exchange *x, const struct lines *in)
{
	int rc = o->err.code ? -1 : nb_local_greeted(&o->local, 0, &o->err);

	if (rc > 0)
		nb_local_send(&o->local, nb_buf_text(&x->body), in->size, in->object, &o->err);
	return rc != 0;
}

/*
 * Ask all processes, each as soon as it has answered hello. They share each wait, so the time
 * does not grow with the number of processes that do not answer.
 */
static void ask_all(struct one *all, size_t n, const struct exchange *x, const struct lines *in)
{
	uint64_t until = wait_until(x, NB_LOCAL_CONNECT_MS, CONNECT_TENTHS), now;
	struct pollfd waits[PROCESSES];
	uint16_t silent[PROCESSES];
	size_t left;

	for (size_t i = 0; i < n; i++) {
		nb_local_begin(&all[i].local, x->relay->place, &all[i].who, until, &all[i].err);
		silent[i] = (uint16_t)i;
	}
	until = wait_until(x, NB_LOCAL_HELLO_MS, HELLO_TENTHS);
	for (;; n = left) {
		left = 0;
		for (size_t i = 0; i < n; i++)
			if (!ask_one(&all[silent[i]], x, in)) {
				waits[left] = (struct pollfd){ all[silent[i]].local.fd, POLLIN, 0 };
				silent[left++] = silent[i];
			}
		now = nb_clock_system();
		if (!left || now >= until)
			break;
		poll(waits, left, (int)((until - now) / 1000000) + 1);
	}
	while (left)
		not_greeted(&all[silent[--left]].err);
}

static void collect(struct nb_buf *out, struct one *o, uint64_t until, const struct exchange *x,
		    const struct lines *in)
{
	size_t size = 0;

	if (!o->err.code && !nb_local_line(&o->local, until, &size, &o->err))
		late(x, &o->err);
	if (!o->err.code && out->size + size > REPLIES_SIZE)
		nb_fail(&o->err, NB_E_LIMIT, 0,
			"the replies of this site have more than %d MiB: "
			"ask for fewer processes at once (pids=)",
			REPLIES_SIZE >> 20);
	if (o->who.ns)
		nb_buf_printf(out, "%llu.", (unsigned long long)o->who.ns);
	nb_buf_printf(out, "%d ", o->who.pid);
	if (o->err.code)
		nb_reply_error(out, &in->req, &o->err, NULL, NULL);
	else
		nb_buf_bytes(out, o->local.in.data, size);
	nb_local_close(&o->local);
}

static void collect_all(struct nb_buf *out, struct one *all, size_t n, const struct exchange *x,
			const struct lines *in)
{
	uint64_t until = wait_until(x, REPLY_MS, REPLY_TENTHS);

	for (size_t i = 0; i < n; i++)
		collect(out, &all[i], until, x, in);
}

static enum MHD_Result answer_all(struct MHD_Connection *c, struct exchange *x, const char *pids)
{
	struct lines in = { .object = -1 };
	struct nb_err err = { .code = 0 };
	struct one *all = calloc(PROCESSES, sizeof(*all));
	struct nb_buf out;
	enum MHD_Result rc;
	size_t n;

	if (!all)
		return MHD_NO;
	if (read_line(c, x, &in, &err)) {
		rc = reply_error(c, &in.req, &err);
	} else {
		n = list_pids(pids, all);
		ask_all(all, n, x, &in);
		nb_buf_init(&out, 0);
		collect_all(&out, all, n, x, &in);
		rc = reply(c, MHD_HTTP_OK, &out, 0);
	}
	lines_free(&in);
	free(all);
	return rc;
}

static enum MHD_Result not_found(struct MHD_Connection *c, const char *url)
{
	struct nb_err err = { .code = 0 };
	struct nb_buf out;

	nb_fail(&err, NB_E_USAGE, 0, "%s is unknown (allowed: GET /v1/processes and POST /v1/line)",
		url);
	nb_buf_init(&out, 0);
	nb_reply_error(&out, NULL, &err, NULL, NULL);
	return reply(c, MHD_HTTP_NOT_FOUND, &out, 0);
}

/*
 * Returns the part of the path after the secret, or NULL if the secret is wrong
 * or missing.
 */
static const char *relay_path(const struct nb_relay *r, const char *url)
{
	size_t n = strlen(r->secret);
	unsigned char differs = 0;

	/*
	 * compare all bytes, so that the time does not tell how many are right
	 */
	for (size_t i = 0; i < n; i++) {
		differs |= (unsigned char)(url[i] ^ r->secret[i]);
		if (!url[i])
			return NULL;
	}
	return differs ? NULL : url + n;
}

/* Refuse a path without the secret, before a body is kept. */
static void check_secret(struct exchange *x, const char *url)
{
	if (!x->refused.code && !relay_path(x->relay, url))
		nb_fail(&x->refused, NB_E_PERM, 0,
			"the path does not begin with the agent's secret, "
			"which the site's key in the store contains");
}

static enum MHD_Result route(struct MHD_Connection *c, struct exchange *x, const char *url,
			     const char *method)
{
	const char *pid = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "pid");
	const char *pids = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "pids");
	const char *ms = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "ms");

	if (x->refused.code)
		return reply_error(c, NULL, &x->refused);
	x->limit_ms = ms ? strtoul(ms, NULL, 10) : 0;
	if (x->limit_ms > MOST_MS)
		x->limit_ms = MOST_MS;
	url = relay_path(x->relay, url);
	if (!strcmp(method, "GET") && !strcmp(url, "/v1/processes"))
		return reply_processes(c, x->relay);
	if (strcmp(method, "POST") != 0 || strcmp(url, "/v1/line") != 0 || (!pid && !pids))
		return not_found(c, url);
	return pid ? answer_line(c, x, pid) : answer_all(c, x, pids);
}

static enum MHD_Result relay_handle(void *arg, struct MHD_Connection *c, const char *url,
				    const char *method, const char *version, const char *data,
				    size_t *size, void **state)
{
	struct exchange *x = *state;

	(void)version;
	if (!x) {
		x = *state = calloc(1, sizeof(*x));
		if (!x)
			return MHD_NO;
		x->relay = arg;
		x->began_ns = nb_clock_system();
		nb_buf_init(&x->body, BODY_SIZE);
		nb_relay_peer(c, x->relay->pem.tls, &x->control, &x->refused);
		check_secret(x, url);
		return MHD_YES;
	}
	if (*size) {
		if (!x->refused.code)
			nb_buf_bytes(&x->body, data, *size);
		*size = 0;
		if (!nb_buf_ok(&x->body) && !x->refused.code)
			nb_fail(&x->refused, NB_E_LIMIT, 0, "a request of more than %d bytes",
				BODY_SIZE);
		return MHD_YES;
	}
	return route(c, x, url, method);
}

static void completed(void *arg, struct MHD_Connection *c, void **state,
		      enum MHD_RequestTerminationCode why)
{
	struct exchange *x = *state;

	(void)arg;
	(void)c;
	(void)why;
	if (x)
		nb_buf_fini(&x->body);
	free(x);
	*state = NULL;
}

/*
 * Choose a random secret for the server's path. Clients that can read the
 * address in the store may observe. Other users of the host, and web pages that
 * send requests to its loopback address, cannot know the secret.
 */
static int draw_secret(struct nb_relay *r, struct nb_err *err)
{
	unsigned char bytes[SECRET];

	if (r->pem.tls)
		return 0;
	if (getrandom(bytes, SECRET, 0) != SECRET)
		return nb_fail(err, NB_E_IO, 0, "relay: no random bytes from the kernel: %s",
			       strerror(errno));
	r->secret[0] = '/';
	for (int i = 0; i < SECRET; i++)
		snprintf(r->secret + 1 + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static struct MHD_Daemon *start_daemon(struct nb_relay *r, int fd)
{
	struct MHD_OptionItem tls[] = { { MHD_OPTION_HTTPS_MEM_CERT, 0, r->pem.cert },
					{ MHD_OPTION_HTTPS_MEM_KEY, 0, r->pem.key },
					{ MHD_OPTION_HTTPS_MEM_TRUST, 0, r->pem.cacert },
					{ MHD_OPTION_END, 0, NULL } };
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
			 MHD_USE_POLL | MHD_USE_ITC | (r->pem.tls ? MHD_USE_TLS : 0);

	if (!r->pem.tls)
		tls[0].option = MHD_OPTION_END;
	return MHD_start_daemon(flags, 0, NULL, NULL, relay_handle, r, MHD_OPTION_LISTEN_SOCKET, fd,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
				MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK,
				MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_ARRAY, tls,
				MHD_OPTION_END);
}

int nb_relay_start(struct nb_relay **out, const struct nb_relay_config *config, struct nb_err *err)
{
	struct nb_relay *r = calloc(1, sizeof(*r));
	int rc, fd = -1;

	*out = NULL;
	if (!r)
		return nb_fail(err, NB_E_NOMEM, 0, "relay: no memory");
	r->place = config->place;
	rc = nb_listen_read(&r->pem, &config->at, err);
	if (!rc)
		rc = draw_secret(r, err);
	if (!rc) {
		fd = nb_listen_open(&config->at, CONNECTIONS, err);
		rc = fd < 0 ? fd : 0;
	}
	if (!rc) {
		uint64_t inode = nb_listen_inode(fd);

		nb_listen_address(&config->at, r->pem.tls, fd, r->secret, r->address,
				  sizeof(r->address));
		r->daemon = start_daemon(r, fd);
		if (!r->daemon) {
			const char *why = ": are certificate and key PEM files "
					  "that belong together?";

			nb_listen_drop(fd, inode);
			rc = nb_fail(err, NB_E_SETTING, 0, "relay: the server does not start%s",
				     r->pem.tls ? why : "");
		}
	}
	if (rc) {
		nb_relay_stop(r);
		return rc;
	}
	*out = r;
	return 0;
}

const char *nb_relay_address(const struct nb_relay *r)
{
	return r->address;
}

void nb_relay_stop(struct nb_relay *r)
{
	if (!r)
		return;
	if (r->daemon)
		MHD_stop_daemon(r->daemon);
	nb_listen_free(&r->pem);
	free(r);
}
