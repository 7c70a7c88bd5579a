// SPDX-License-Identifier: MIT
/*
 * Main program of ncclbpf-agent: its options, start, main loop and end. It
 * waits for the job, serves it until its last process ends, and waits again.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/sha256.h"
#include "core/job/segment/alive.h"
#include "plugin/agent/agent.h"
#include "plugin/agent/coordinator/coordinator.h"
#include "plugin/job/place.h"
#include "plugin/job/registry.h"
#include "plugin/job/segment.h"
#include "plugin/relay/metrics.h"
#include "plugin/relay/relay.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/params.h"

static volatile sig_atomic_t stopped;
static bool beside; /* the log says that another agent serves the job */

/* The agent of one job, and what it has beside its own state. */
struct service {
	struct nb_agent agent;
	struct nb_coord *coord;
	struct nb_relay *relay;
};

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void boot_id(char text[40])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, 36) : 0;

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/*
 * Name the site after the host and a digest that identifies its segment. All
 * agents of one segment use the same name; agents of different segments use
 * different names.
 */
static void name_site(struct nb_agent *a)
{
	char boot[40], what[160], hex[65];
	uint8_t digest[NB_SHA256_SIZE];
	struct stat st = { 0 };

	if (gethostname(a->host, sizeof(a->host) - 1))
		snprintf(a->host, sizeof(a->host), "localhost");
	for (char *p = a->host; *p; p++)
		if (*p == '/' || *p == '"' || *p == '\\')
			*p = '_';
	boot_id(boot);
	(void)fstat(a->site.seg->fd, &st);
	snprintf(what, sizeof(what), "%s %llu %llu", boot, (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	nb_sha256(what, strlen(what), digest);
	nb_sha256_text(digest, hex);
	snprintf(a->name, sizeof(a->name), "%.60s-%.8s", a->host, hex);
	snprintf(a->site.seg->mem->agent.site, sizeof(a->site.seg->mem->agent.site), "%s", a->name);
	a->own.site = a->name;
}

/*
 * Returns the store member to ask first. Sites choose different members, which
 * spreads the load.
 */
static unsigned first_member(const char *site)
{
	uint8_t digest[NB_SHA256_SIZE];

	nb_sha256(site, strlen(site), digest);
	return digest[0];
}

static int open_store(struct nb_agent *a, struct nb_err *err)
{
	struct nb_store_config config = {
		.endpoints = nb_params.str[NB_P_FLEET],
		.tls = { .cacert = nb_params.str[NB_P_FLEET_CACERT],
			 .cert = nb_params.str[NB_P_FLEET_CERT],
			 .key = nb_params.str[NB_P_FLEET_KEY] },
		.user = nb_params.str[NB_P_FLEET_USER],
		.password_file = nb_params.str[NB_P_FLEET_PASSWORD_FILE],
		.timeout_ms = (unsigned)nb_agent_times.store,
		.first = first_member(a->name),
	};
	int rc = nb_http_new(&a->http, err);

	if (!rc)
		rc = nb_store_open(&a->store, a->http, &config, err);
	a->own.store = a->store;
	snprintf(a->own.prefix, sizeof(a->own.prefix), "/ncclbpf/1/%s/", a->dir.job);
	return rc;
}

/* Log that another agent serves the job. @pid: its PID, or 0 */
static void note_other(const struct nb_agent *a, uint64_t pid)
{
	char who[48] = "in another PID namespace";

	if (pid)
		snprintf(who, sizeof(who), "with PID %llu", (unsigned long long)pid);
	if (!beside)
		nb_agent_log("waits: an agent %s serves job %s in %s", who, a->dir.job, a->dir.dir);
	beside = true;
}

/*
 * Attach to the job's segment as its agent. Returns 0 on success, 1 if the
 * segment has another living agent, or a negative error.
 */
static int service_attach(struct nb_agent *a, const struct nb_jobdir_search *search,
			  struct nb_err *err)
{
	struct nb_err dir_err;
	uint64_t pid, start;
	struct nb_segment *s;
	int rc = nb_place_open(search, NB_SEG_PROC_AGENT, &a->dir, &s, &dir_err, err);

	if (rc)
		return rc;
	if (a->dir.dirfd < 0) {
		*err = dir_err;
		nb_segment_detach(s);
		return err->code;
	}
	if (!s->shared) {
		rc = nb_fail(err, NB_E_IO, 0, "no job segment: %.200s", s->why);
		nb_segment_detach(s);
		return rc;
	}
	if (nb_segment_agent(s, &pid, &start)) {
		note_other(a, pid);
		nb_segment_detach(s);
		return 1;
	}
	beside = false;
	a->site.seg = s;
	return 0;
}

/*
 * Split NCCLBPF_AGENT_LISTEN, which is an address, a port after a colon, or
 * both.
 */
static void read_listen(const char *text, char host[128], unsigned *port)
{
	const char *colon = strrchr(text, ':');
	const char *end = colon ? colon : text + strlen(text);

	*port = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
	if (*text == '[' && end > text && end[-1] == ']') {
		text++;
		end--;
	}
	snprintf(host, 128, "%.*s", (int)(end - text), text);
}

/*
 * Serve /metrics at @text, ADDRESS:PORT, on the loopback address if ADDRESS is
 * missing. Returns 0 or an exit status; the error is logged.
 */
static int start_metrics(struct nb_metrics **m, const char *text, const char *job, const char *dir)
{
	struct nb_listen_config at = { .listen = "127.0.0.1" };
	const char *colon = strrchr(text, ':');
	struct nb_err err = { .code = 0 };
	char host[128];

	if (!*text)
		return 0;
	if (!colon || strspn(colon + 1, "0123456789") < 1 ||
	    colon[1 + strspn(colon + 1, "0123456789")]) {
		nb_agent_log("--metrics %s has no port (allowed: ADDRESS:PORT or "
			     ":PORT, such as 127.0.0.1:9400)",
			     text);
		return 78;
	}
	read_listen(text, host, &at.port);
	if (*host)
		at.listen = host;
	if (nb_metrics_start(m, &at, job, dir, &err)) {
		nb_agent_log("--metrics %s: %s", text, err.text);
		return err.code == NB_E_SETTING ? 78 : 1;
	}
	nb_agent_log("serves metrics at %s", nb_metrics_address(*m));
	return 0;
}

/*
 * Start the HTTPS server for shells. With TLS it listens on all addresses,
 * without TLS on the loopback address only. If the server cannot start, the
 * agent logs the error and continues without it.
 */
static void start_relay(struct service *s)
{
	struct nb_agent *a = &s->agent;
	struct nb_relay_config c = {
		.place = &a->dir,
		.at = { .cacert = nb_params.str[NB_P_FLEET_CACERT],
			.cert = nb_params.str[NB_P_FLEET_CERT],
			.key = nb_params.str[NB_P_FLEET_KEY] },
	};
	struct nb_err err = { .code = 0 };
	char host[128];

	read_listen(nb_params.str[NB_P_AGENT_LISTEN], host, &c.at.port);
	/* TLS needs a certificate of our own */
	if (!*c.at.cert)
		c.at.cacert = "";
	if (!*host)
		snprintf(host, sizeof(host), "%s", *c.at.cert ? "0.0.0.0" : "127.0.0.1");
	c.at.listen = host;
	if (!strcmp(host, "0.0.0.0") || !strcmp(host, "::"))
		c.at.advertise = a->host;
	if (nb_relay_start(&s->relay, &c, &err))
		nb_agent_log("shells cannot reach this site: %s", err.text);
	else
		a->address = nb_relay_address(s->relay);
}

static void tick_procs(struct service *s)
{
	struct nb_procs_result r;

	if (nb_procs_take(s->agent.procs, &r))
		nb_agent_take(&s->agent, s->coord, &r);
}

static void wait_for_work(struct service *s, int ms)
{
	const struct nb_agent *a = &s->agent;
	struct pollfd f[2] = { { nb_http_fd(a->http), POLLIN, 0 },
			       { nb_procs_fd(a->procs), POLLIN, 0 } };

	(void)poll(f, 2, ms);
	if (f[0].revents)
		nb_http_tick(a->http);
	if (f[1].revents)
		tick_procs(s);
}

/*
 * Wait for a last request while the store may answer soon. @done is static,
 * because the reply may come after the wait has ended.
 */
static void wait_reply(struct nb_agent *a, const bool *done)
{
	uint64_t end = nb_agent_ms() + nb_agent_times.leave;

	while (!*done && nb_agent_ms() < end)
		nb_http_wait(a->http, 50);
}

static void answered(void *arg, const struct nb_store_reply *r)
{
	(void)r;
	*(bool *)arg = true;
}

/* Delete our keys from the store if the store answers at once. */
static void leave_store(struct nb_agent *a)
{
	static bool revoked;

	revoked = false;
	if (a->lease && !nb_store_lease_revoke(a->store, a->lease, answered, &revoked, NULL))
		wait_reply(a, &revoked);
}

/*
 * Record that all processes of the site have ended. Otherwise the coordinator
 * must assume that this site's ranks of a communicator continue, and refuses
 * changes while another site has the communicator.
 *
 * The store may receive the record late, when new processes use the segment and
 * have started another agent. The store then refuses the record, because that
 * agent has written the site's key.
 */
static void put_ended(struct nb_agent *a)
{
	static bool written;
	uint64_t end = nb_agent_ms() + nb_agent_times.leave;
	written = false;
	/* the site's key may have a newer value, or its write is under way */
	nb_own_flush(&a->own);
	while (a->lease && !nb_own_confirmed(&a->own, NB_OWN_SITE) && nb_agent_ms() < end)
		nb_http_wait(a->http, 50);
	if (a->lease && !nb_own_ended(&a->own, answered, &written))
		wait_reply(a, &written);
}

static int serve(struct service *s)
{
	struct nb_agent *a = &s->agent;
	uint64_t looked = nb_agent_ms();

	while (!stopped) {
		int ms = nb_agent_tick(a, s->coord);

		wait_for_work(s, ms);
		if (nb_agent_ms() < looked + 1000)
			continue;
		looked = nb_agent_ms();
		if (!nb_segment_procs(a->site.seg)) {
			put_ended(a);
			break;
		}
	}
	leave_store(a);
	return 0;
}

static void service_free(struct service *s)
{
	struct nb_agent *a = &s->agent;

	nb_relay_stop(s->relay);
	if (s->coord)
		nb_coord_reset(s->coord);
	a->leaving = true;
	nb_store_end(a->store);
	nb_procs_free(a->procs);
	nb_coord_free(s->coord);
	nb_store_close(a->store);
	nb_http_free(a->http);
	nb_own_free(&a->own);
	json_decref(a->result);
	nb_view_clear(&a->view);
	nb_segment_detach(a->site.seg);
	nb_jobdir_close(&a->dir);
}

/* Returns true if a process of the job is alive. */
static bool __attribute__((noinline)) job_lives(const struct nb_jobdir_search *search)
{
	char name[NB_JOBDIR_JOB + 8];
	struct nb_jobdir dir;
	bool lives = nb_place_find(search, &dir);

	if (!lives)
		return false;
	snprintf(name, sizeof(name), "%s.seg", dir.job);
	lives = nb_seg_has_job(dir.dirfd, name);
	nb_jobdir_close(&dir);
	return lives;
}

/*
 * Wait until the job runs. If a service attached earlier, it would replace the
 * segment of a dead job, which a user may still want to read.
 */
static void __attribute__((noinline)) wait_job(const struct nb_jobdir_search *search)
{
	bool waits = !stopped && !job_lives(search);
	struct nb_jobdir first;

	if (nb_jobdir_first(search, &first, NULL))
		return;
	if (waits)
		nb_agent_log("waits for job %s in %s", first.job, first.dir);
	nb_jobdir_close(&first);
	while (waits) {
		nb_clock_sleep(nb_agent_times.job * 1000000);
		waits = !stopped && !job_lives(search);
	}
}

/* Serve one job, from the start of its first process to the end of its last. */
static int run_job(struct service *s, const char *dir, const char *job)
{
	const struct nb_jobdir_search search = { dir, job, NULL, NULL };
	struct nb_agent *a = &s->agent;
	struct nb_err err = { .code = 0 };
	int rc = 0;

	wait_job(&search);
	if (!stopped)
		rc = service_attach(a, &search, &err);
	if (stopped) {
		service_free(s);
		return 0;
	}
	if (!rc) {
		name_site(a);
		rc = open_store(a, &err);
	}
	if (!rc)
		rc = nb_procs_new(&a->procs, &a->dir, &err);
	if (!rc) {
		start_relay(s);
		s->coord = nb_coord_new(a);
		rc = s->coord ? serve(s) : NB_E_NOMEM;
	}
	if (rc < 0)
		nb_agent_log("%s", err.text);
	service_free(s);
	return rc;
}

static void usage(void)
{
	puts("usage: ncclbpf-agent [--job NAME] [--dir DIRECTORY] "
	     "[--metrics ADDRESS:PORT]\n"
	     "\n"
	     "Connects one host's part of a job to the fleet (docs/fleet.md): "
	     "waits for the job,\nserves it until its last process ends, "
	     "and waits again.\n"
	     "Reads NCCLBPF_FLEET, _CACERT, _CERT, _KEY, _USER, "
	     "_PASSWORD_FILE.\n"
	     "--metrics serves http://ADDRESS:PORT/metrics for Prometheus, "
	     "without NCCLBPF_FLEET\nnothing else.");
}

int main(int argc, char **argv)
{
	static struct service service;
	static const struct option options[] = { { "job", required_argument, NULL, 'j' },
						 { "dir", required_argument, NULL, 'd' },
						 { "metrics", required_argument, NULL, 'm' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	const char *job = "", *dir = "", *at = "";
	struct nb_metrics *metrics = NULL;
	int c, rc;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'j':
			job = optarg;
			break;
		case 'd':
			dir = optarg;
			break;
		case 'm':
			at = optarg;
			break;
		case 'h':
			usage();
			return 0;
		default:
			usage();
			return 64;
		}
	if (getenv("AGENT_TIMES") && !nb_agent_times_set(getenv("AGENT_TIMES"))) {
		nb_agent_log("AGENT_TIMES=%s is not a list NAME=MILLISECONDS,... "
			     "(names: plugin/agent/keys/times.h; at most 2^30 ms)",
			     getenv("AGENT_TIMES"));
		return 78;
	}
	if (nb_params_read())
		return 1;
	if (!*at)
		at = nb_params.str[NB_P_AGENT_METRICS];
	if (!nb_params_fleet() && !*at) {
		nb_agent_log("nothing to do: NCCLBPF_FLEET names no store "
			     "(such as https://etcd-1:2379), and --metrics "
			     "no address (such as 127.0.0.1:9400)");
		return 78;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* writes then fail with EFBIG */
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	dir = *dir ? dir : nb_params.str[NB_P_SOCKET_DIR];
	job = *job ? job : nb_params.str[NB_P_JOB];
	rc = start_metrics(&metrics, at, job, dir);
	if (rc)
		return rc;
	while (!stopped && !nb_params_fleet())
		nb_clock_sleep(UINT64_C(200000000));
	while (!stopped) {
		memset(&service, 0, sizeof(service));
		service.agent.address = "";
		rc = run_job(&service, dir, job);
		if (!stopped)
			nb_clock_sleep(UINT64_C(1000000000));
	}
	nb_metrics_stop(metrics);
	return rc < 0 ? 1 : 0;
}
