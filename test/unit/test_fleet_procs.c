// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What an agent says of a process that does not answer as it should. The
// process is a socket of this test.
#include "test/unit/unit.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "plugin/agent/site/procs.h"

static struct nb_err err;

/* ---- a process ---- */

/* Its reply to the first request, @nreply times; then it closes. */
static struct {
	int at;
	const char *reply;
	size_t nreply;
} process;

static void *answer_once(void *arg)
{
	int fd = accept(process.at, NULL, NULL);
	char c = 0;

	(void)arg;
	while (c != '\n' && read(fd, &c, 1) == 1)
		;
	for (size_t i = 0; i < process.nreply; i++)
		(void)!send(fd, process.reply, strlen(process.reply), MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

/* Have the agent drop a change. Returns the error code of the result. */
static int order_drop(const struct nb_jobdir *dir)
{
	struct nb_procs_order *o = nb_procs_order_new();
	struct nb_procs_result r;
	struct nb_procs *p;
	struct pollfd f;

	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(nb_procs_new(&p, dir, &err), 0);
	o->kind = NB_PROCS_DROP;
	f = (struct pollfd){ nb_procs_fd(p), POLLIN, 0 };
	ck_assert(nb_procs_give(p, o));
	ck_assert_int_eq(poll(&f, 1, 600000), 1);
	ck_assert(nb_procs_take(p, &r));
	nb_procs_free(p);
	err = r.err;
	return err.code;
}

/* ---- tests ---- */

TEST(a_message_says_why_there_is_no_answer)
{
	static const struct {
		const char *reply;
		size_t nreply;
		int code;
		const char *says;
	} cases[] = {
		{ "", 0, NB_E_NOTARGET, "closed its control socket" },
		{ "{\"ok\":", 1, NB_E_NOTARGET, "closed its control socket" },
		{ "ok\n", 1, NB_E_PROTOCOL, "that is not JSON" },
		{ "0123456789abcdef", (1 << 17), NB_E_PROTOCOL, "more than 1048577 bytes" },
		{ "{\"ok\":false,\"error\":{\"message\":\"no\"}}\n", 1, NB_E_REFUSED,
		  "t.0.4.1.sock: no" },
	};
	char path[] = "/tmp/ncclbpf-procs-XXXXXX";
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct nb_jobdir dir;
	pthread_t thread;

	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert(!nb_jobdir_open(&dir, path, "t", NULL, NULL, &err));
	ck_assert(nb_jobdir_address(&dir, "t.0.4.1.sock", a.sun_path));
	process.at = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert(!bind(process.at, (struct sockaddr *)&a, sizeof(a)) && !listen(process.at, 1));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		process.reply = cases[i].reply;
		process.nreply = cases[i].nreply;
		ck_assert(!pthread_create(&thread, NULL, answer_once, NULL));
		ck_assert_msg(order_drop(&dir) == cases[i].code, "%zu: %d %s", i, err.code,
			      err.text);
		ck_assert_msg(strstr(err.text, cases[i].says), "%s", err.text);
		pthread_join(thread, NULL);
	}
	close(process.at);
	unlink(a.sun_path);
	nb_jobdir_close(&dir);
	ck_assert(!rmdir(path));
}

UNIT_MAIN("fleet_procs")
