// SPDX-License-Identifier: MIT
/*
 * The thread that talks to the job's processes. It sends a request to all
 * processes before it reads the first answer, so that they work in parallel.
 */
#include "plugin/agent/site/procs.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/job/wire/wire.h"
#include "core/job/wire/object.h"
#include "plugin/agent/keys/times.h"
#include "plugin/agent/keys/view.h"
#include "plugin/relay/local.h"

enum { OBJECT_SIZE = 64 << 20, NPROCS = 512 };

struct nb_procs {
	struct nb_jobdir dir;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	/* the order that the thread carries out now, or NULL */
	struct nb_procs_order *order;
	struct nb_procs_result result;
	bool busy, done, over;
	int event;
};

struct peers {
	const struct nb_jobdir *dir;
	struct nb_local at[NPROCS];
	size_t n;
	struct nb_err stuck; /* a process accepts no connection; code 0: all do */
};

/*
 * Connect to one process. A process that has ended no longer counts. Returns
 * false after the last one, or if the process accepts no connection.
 */
static bool peer_open(void *arg, const char *name, const struct nb_jobdir_process *of)
{
	struct peers *all = arg;
	struct nb_local *p = &all->at[all->n];
	uint64_t until = nb_local_until(NB_LOCAL_CONNECT_MS);

	(void)of;
	if (!nb_local_connect(p, all->dir, name, until, &all->stuck)) {
		all->stuck.code = 0;
		return ++all->n < NPROCS;
	}
	nb_local_close(p);
	if (all->stuck.code == NB_E_TIMEOUT)
		return false;
	all->stuck.code = 0;
	return true;
}

static void peers_close(struct peers *all)
{
	for (size_t i = 0; i < all->n; i++)
		nb_local_close(&all->at[i]);
	all->n = 0;
}

/* Send a line. If that fails, reading the answer reports it. */
static void send_line(struct nb_local *p, const char *line, int with)
{
	if (!nb_local_send(p, line, strlen(line), with, NULL))
		(void)nb_local_send(p, "\n", 1, -1, NULL);
}

/*
 * Read the process's answer. *@answer becomes its JSON, which the caller frees,
 * or NULL. Returns 0 if the process has carried out the request.
 */
static int read_answer(struct nb_local *p, uint64_t until, json_t **answer, struct nb_err *err)
{
	struct nb_err why = { .code = 0 };
	const json_t *e;
	size_t size;
	int rc = nb_local_line(p, until, &size, &why);

	*answer = rc == 1 ? json_loadb(p->in.data, size, 0, NULL) : NULL;
	if (rc == 1)
		nb_local_drop(p, size);
	if (!rc)
		nb_fail(&why, NB_E_TIMEOUT, 0, "the process has not answered in time");
	else if (rc == 1 && !*answer)
		nb_fail(&why, NB_E_PROTOCOL, 0, "the process has sent a reply that is not JSON");
	if (why.code)
		return nb_fail(err, why.code, 0, "%s: %s", p->name, why.text);
	if (json_is_true(json_object_get(*answer, "ok")))
		return 0;
	e = json_object_get(*answer, "error");
	nb_fail(err, NB_E_REFUSED, 0, "%s: %s", p->name, nb_view_str(e, "message"));
	if (*nb_view_str(e, "hint"))
		nb_hint(err, "%s", nb_view_str(e, "hint"));
	return NB_E_REFUSED;
}

/*
 * Send @line to the first @n processes and read their answers. @digest:
 * expected member "change" of each answer. If @digest is empty, the first
 * answer sets it. If it is NULL, any answer is accepted.
 */
static int ask(struct peers *all, size_t n, const char *line, const struct nb_procs_blob *with,
	       char *digest, struct nb_err *err)
{
	uint64_t until = nb_local_until((int)nb_agent_times.process);
	int fd = with ? nb_wire_object_file(with->bytes, with->size) : -1, rc = 0;

	if (with && fd < 0)
		return nb_fail(err, NB_E_IO, 0, "no memory file for policy %s: %s", with->name,
			       strerror(errno));
	for (size_t i = 0; i < n; i++)
		send_line(&all->at[i], line, fd);
	for (size_t i = 0; i < n; i++) {
		json_t *a;
		const char *got;
		int one = read_answer(&all->at[i], until, &a, rc ? NULL : err);

		got = nb_view_str(json_object_get(a, "data"), "change");
		rc = rc ? rc : one;
		if (!rc && digest && !*digest)
			snprintf(digest, 65, "%s", got);
		if (!rc && digest && strcmp(digest, got))
			rc = nb_fail(err, NB_E_REFUSED, 0,
				     "%s has staged %.12s and %s has staged %.12s: "
				     "the processes held other policies or map contents "
				     "before the change",
				     all->at[i].name, got, all->at[0].name, digest);
		json_decref(a);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * Handle the case that all processes have staged the generation that the site
 * already has. Processes that lacked it adopt it before their next request; the
 * other processes drop it.
 */
static int adopt_staged(struct peers *all, const struct nb_procs_order *o,
			struct nb_procs_result *r)
{
	char line[96];

	snprintf(line, sizeof(line), "change abort %s", r->digest);
	(void)ask(all, all->n, line, NULL, NULL, NULL);
	if (!strcmp(r->digest, o->digest))
		return 0;
	return nb_fail(&r->err, NB_E_REFUSED, 0,
		       "the request makes generation %.12s here, the job "
		       "has %.12s: the job's maps have changed since",
		       r->digest, o->digest);
}

static int order_stage(struct peers *all, const struct nb_procs_order *o, struct nb_procs_result *r)
{
	char line[sizeof(o->line) + 64];
	int rc = 0;

	for (size_t i = 0; !rc && i < o->nimages; i++) {
		snprintf(line, sizeof(line), "policy load %s", o->image[i].name);
		rc = ask(all, all->n, line, &o->image[i], NULL, &r->err);
	}
	snprintf(line, sizeof(line), "%s commit=no", o->line);
	if (!rc)
		rc = ask(all, all->n, line, o->data.size ? &o->data : NULL, r->digest, &r->err);
	if (rc)
		return rc;
	if (o->kind == NB_PROCS_LATE)
		return adopt_staged(all, o, r);
	snprintf(line, sizeof(line), "change check %s fleet=%llu", r->digest,
		 (unsigned long long)o->n);
	rc = ask(all, 1, line, NULL, NULL, &r->err);
	if (!rc)
		return 0;
	snprintf(line, sizeof(line), "change abort %s", r->digest);
	(void)ask(all, all->n, line, NULL, NULL, NULL);
	return rc;
}

/*
 * Send a request that a process answers with an object. Returns the reply's
 * data in *@data, which the caller frees.
 */
static int ask_object(struct nb_local *p, const char *line, json_t **data, struct nb_procs_blob *b,
		      struct nb_err *err)
{
	struct nb_err why = { .code = 0 };
	json_t *a;
	int rc;

	send_line(p, line, -1);
	rc = read_answer(p, nb_local_until((int)nb_agent_times.process), &a, err);
	if (!rc && nb_local_object(p, &b->bytes, &b->size, OBJECT_SIZE, &why))
		rc = nb_fail(err, why.code, 0, "%s: %s", p->name, why.text);
	if (!rc && !b->size) {
		free(b->bytes);
		b->bytes = NULL;
		rc = nb_fail(err, NB_E_PROTOCOL, 0, "%s has sent no object beside its reply",
			     p->name);
	}
	*data = json_incref(json_object_get(a, "data"));
	json_decref(a);
	return rc;
}

/* Get the images of the policies that the generation has. */
static int export_images(struct nb_local *p, const json_t *policies, struct nb_procs_result *r)
{
	size_t n = json_array_size(policies);
	int rc = 0;

	for (size_t i = 0; !rc && i < n && i < NB_PROCS_IMAGES; i++) {
		const json_t *policy = json_array_get(policies, i);
		struct nb_procs_blob *b = &r->image[r->nimages++];
		json_t *data = NULL;
		char line[96];

		snprintf(line, sizeof(line), "policy export %.64s", nb_view_str(policy, "digest"));
		rc = nb_procs_blob_name(b, nb_view_str(policy, "name"), &r->err);
		if (!rc)
			rc = ask_object(p, line, &data, b, &r->err);
		json_decref(data);
	}
	return rc;
}

/* Ask the processes one after the other until one has the generation. */
static int order_export(struct peers *all, const struct nb_procs_order *o,
			struct nb_procs_result *r)
{
	for (size_t i = 0; i < all->n; i++) {
		json_t *data = NULL;
		int rc = ask_object(&all->at[i], "change export", &data, &r->data, &r->err);
		bool ours = !strcmp(nb_view_str(data, "change"), o->digest);

		if (!rc && ours)
			rc = export_images(&all->at[i], json_object_get(data, "policies"), r);
		json_decref(data);
		if (rc || ours)
			return rc;
		free(r->data.bytes);
		r->data.bytes = NULL;
	}
	return nb_fail(&r->err, NB_E_REFUSED, 0, "no process of this site has generation %.12s",
		       o->digest);
}

/* Ask the processes one after the other for what their controllers propose. */
static int order_proposal(struct peers *all, struct nb_procs_result *r)
{
	int rc = NB_E_NOENT;

	for (size_t i = 0; rc && i < all->n; i++) {
		json_t *data = NULL;

		rc = ask_object(&all->at[i], "controller export", &data, &r->data, &r->err);
		snprintf(r->digest, sizeof(r->digest), "%s", nb_view_str(data, "change"));
		json_decref(data);
	}
	return rc;
}

static void run_order(const struct nb_procs *p, const struct nb_procs_order *o,
		      struct nb_procs_result *r)
{
	/* static, because it is large; only this thread uses it */
	static struct peers all;
	char line[160 + NB_PROCS_MAKER];
	int rc;

	*r = (struct nb_procs_result){ .kind = o->kind, .n = o->n };
	all.dir = &p->dir;
	all.stuck.code = 0;
	rc = nb_local_each(all.dir, peer_open, &all, &r->err);
	r->processes = (uint32_t)all.n;
	if (all.stuck.code)
		r->err = all.stuck;
	if (rc || all.stuck.code)
		rc = r->err.code;
	else if (!all.n)
		rc = nb_fail(&r->err, NB_E_REFUSED, 0,
			     "no process of the job has a control socket here");
	else
		rc = ask(&all, all.n, "hello 1", NULL, NULL, &r->err);
	if (!rc && (o->kind == NB_PROCS_STAGE || o->kind == NB_PROCS_LATE)) {
		rc = order_stage(&all, o, r);
	} else if (!rc && o->kind == NB_PROCS_PROPOSAL) {
		rc = order_proposal(&all, r);
	} else if (!rc && o->kind == NB_PROCS_EXPORT) {
		snprintf(r->digest, sizeof(r->digest), "%s", o->digest);
		rc = order_export(&all, o, r);
	} else if (!rc) {
		bool commit = o->kind == NB_PROCS_COMMIT;

		snprintf(r->digest, sizeof(r->digest), "%s", o->digest);
		snprintf(line, sizeof(line),
			 commit ? "change commit %s fleet=%llu%s%s" : "change abort %s", o->digest,
			 (unsigned long long)o->n, *o->maker ? " maker=" : "", o->maker);
		rc = ask(&all, commit ? 1 : all.n, line, NULL, NULL, &r->err);
	}
	if (!rc)
		r->err.code = 0;
	peers_close(&all);
}

static void *procs_main(void *arg)
{
	struct nb_procs *p = arg;

	pthread_mutex_lock(&p->mutex);
	while (!p->over) {
		struct nb_procs_result r;
		struct nb_procs_order *o = p->order;
		uint64_t one = 1;

		if (!o) {
			pthread_cond_wait(&p->wake, &p->mutex);
			continue;
		}
		p->order = NULL;
		pthread_mutex_unlock(&p->mutex);
		run_order(p, o, &r);
		nb_procs_order_free(o);
		pthread_mutex_lock(&p->mutex);
		p->result = r;
		p->done = true;
		(void)!write(p->event, &one, sizeof(one));
	}
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

int nb_procs_new(struct nb_procs **out, const struct nb_jobdir *dir, struct nb_err *err)
{
	struct nb_procs *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory");
	p->dir = *dir;
	p->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->wake, NULL);
	if (p->event < 0 || pthread_create(&p->thread, NULL, procs_main, p)) {
		if (p->event >= 0)
			close(p->event);
		free(p);
		return nb_fail(err, NB_E_NOMEM, 0, "no thread: %s", strerror(errno));
	}
	*out = p;
	return 0;
}

void nb_procs_free(struct nb_procs *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	p->over = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->mutex);
	pthread_join(p->thread, NULL);
	nb_procs_order_free(p->order);
	/* free the bytes of an export that no caller has fetched */
	nb_procs_result_free(&p->result);
	close(p->event);
	free(p);
}

int nb_procs_fd(const struct nb_procs *p)
{
	return p->event;
}

bool nb_procs_busy(const struct nb_procs *p)
{
	return p->busy;
}

bool nb_procs_give(struct nb_procs *p, struct nb_procs_order *order)
{
	if (p->busy)
		return false;
	pthread_mutex_lock(&p->mutex);
	p->order = order;
	p->busy = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->mutex);
	return true;
}

bool nb_procs_take(struct nb_procs *p, struct nb_procs_result *result)
{
	uint64_t n;
	bool done;

	(void)!read(p->event, &n, sizeof(n));
	pthread_mutex_lock(&p->mutex);
	done = p->done;
	if (done) {
		*result = p->result;
		memset(&p->result, 0, sizeof(p->result));
		p->done = p->busy = false;
	}
	pthread_mutex_unlock(&p->mutex);
	return done;
}

struct nb_procs_order *nb_procs_order_new(void)
{
	return calloc(1, sizeof(struct nb_procs_order));
}

void nb_procs_order_free(struct nb_procs_order *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < NB_PROCS_IMAGES; i++)
		free(o->image[i].bytes);
	free(o->data.bytes);
	free(o);
}

void nb_procs_result_free(struct nb_procs_result *r)
{
	for (size_t i = 0; i < NB_PROCS_IMAGES; i++)
		free(r->image[i].bytes);
	free(r->data.bytes);
	memset(r->image, 0, sizeof(r->image));
	memset(&r->data, 0, sizeof(r->data));
	r->nimages = 0;
}

void nb_procs_order_maker(struct nb_procs_order *o, const char *text)
{
	snprintf(o->maker, sizeof(o->maker), "%s", text);
	for (char *p = o->maker; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') &&
		    !(*p >= '0' && *p <= '9') && !strchr("_.:/@+,-", *p))
			*p = '_';
}

static int check_line(struct nb_request *req, char copy[4096], const char *line, struct nb_err *err)
{
	size_t size = strlen(line);

	if (size >= 4096) {
		nb_fail(err, NB_E_LIMIT, 0, "the request has %zu bytes (allowed: 4095)", size);
		return NB_E_LIMIT;
	}
	memcpy(copy, line, size + 1);
	return nb_request_parse(req, copy, size, err);
}

int nb_procs_order_line(struct nb_procs_order *o, const char *line, struct nb_err *err)
{
	struct nb_request req;
	char copy[sizeof(o->line)];
	int rc = check_line(&req, copy, line, err);

	if (rc)
		return rc;
	if (req.has_id || nb_request_opt(&req, "commit") ||
	    !strstr(req.spec->syntax, "[commit=no]"))
		return nb_fail(err, NB_E_ARG, 0,
			       "%s cannot be part of a fleet's change (allowed: "
			       "a command that has the option commit=no, without that option)",
			       req.spec->words);
	memcpy(o->line, line, strlen(line) + 1);
	return 0;
}

int nb_procs_blob_name(struct nb_procs_blob *b, const char *name, struct nb_err *err)
{
	struct nb_request req;
	char line[128], copy[4096];
	int rc;

	if (strlen(name) >= sizeof(b->name))
		return nb_fail(err, NB_E_LIMIT, 0, "a policy's name has %zu bytes (allowed: %zu)",
			       strlen(name), sizeof(b->name) - 1);
	snprintf(line, sizeof(line), "policy load %s", name);
	rc = check_line(&req, copy, line, err);
	if (rc)
		return rc;
	if (req.narg != 1 || req.nopt || strcmp(req.arg[0], name))
		return nb_fail(err, NB_E_ARG, 0, "%s is not a policy name", name);
	memcpy(b->name, name, strlen(name) + 1);
	return 0;
}
