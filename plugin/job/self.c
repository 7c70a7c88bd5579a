// SPDX-License-Identifier: MIT
/*
 * This process as a member of its job: its directory, its segment, and the
 * settings that it publishes.
 */
#include "plugin/job/self.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/job/segment/leftover.h"
#include "plugin/job/place.h"
#include "plugin/job/platform.h"
#include "plugin/job/registry.h"
#include "plugin/job/startup.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

struct nb_self nb_self = { .dir.dirfd = -1 };

static void log_line(void *arg, const char *line)
{
	(void)arg;
	if (!nb_self.passed_over[0])
		snprintf(nb_self.passed_over, sizeof(nb_self.passed_over), "%.399s", line);
	nb_log(NB_LOG_WARN, "%s", line);
}

/* Warn if the directory in NCCLBPF_SOCKET_DIR could not be used. */
static void warn_of_other_dir(void)
{
	const char *want = nb_params.str[NB_P_SOCKET_DIR];
	const char *have = nb_self.dir.dir;
	size_t n = strlen(have);

	if (want[0] && (strncmp(want, have, n) || (want[n] && want[n] != '/')))
		nb_log(NB_LOG_WARN,
		       "NCCLBPF_SOCKET_DIR %.300s cannot be used; "
		       "the control socket is in %s",
		       want, have);
}

void nb_self_open(void)
{
	nb_self.pid = getpid();
	nb_self.started_ns = nb_clock_system();
	if (gethostname(nb_self.host, sizeof(nb_self.host) - 1))
		snprintf(nb_self.host, sizeof(nb_self.host), "localhost");
}

/*
 * Publish the settings that must be equal in all processes. Ranks of this
 * process register later; other processes then compare this entry.
 */
static void publish_settings(void)
{
	struct nb_seg_proc *self = &nb_self.seg->mem->proc[nb_self.seg->proc];
	const int64_t *num = nb_params.num;

	self->rank = nb_self.dir.rank;
	self->ranks = nb_self.dir.ranks;
	self->setting[NB_SETTING_VERSION] = nb_startup_version(NCCLBPF_VERSION);
	self->setting[NB_SETTING_COHERENCE] = (uint32_t)num[NB_P_COHERENCE];
	self->setting[NB_SETTING_MAX_CHANNELS] = (uint32_t)num[NB_P_MAX_CHANNELS];
	self->setting[NB_SETTING_MAX_RUN] = (uint32_t)num[NB_P_MAX_RUN];
	self->setting[NB_SETTING_FLEET] = nb_params_fleet();
	self->setting[NB_SETTING_FENCE_MARGIN] = (uint32_t)num[NB_P_FENCE_MARGIN];
	self->setting[NB_SETTING_FENCE_TIMEOUT_MS] = (uint32_t)num[NB_P_FENCE_TIMEOUT_MS];
}

/* Keep few segments of ended jobs. The first process of a job does so. */
static void remove_leftovers(void)
{
	const struct nb_leftovers l =
		nb_leftovers(nb_self.dir.dirfd, (uint32_t)nb_params.num[NB_P_KEEP_SEGMENTS],
			     (uint64_t)nb_params.num[NB_P_KEEP_SEGMENTS_HOURS] * 3600, NULL);

	if (l.removed)
		nb_log(NB_LOG_INFO,
		       "%u segments of ended jobs with %llu KiB were removed from %s "
		       "(NCCLBPF_KEEP_SEGMENTS=%lld)",
		       l.removed, (unsigned long long)l.removed_bytes / 1024, nb_self.dir.dir,
		       (long long)nb_params.num[NB_P_KEEP_SEGMENTS]);
}

int nb_self_attach(bool control, struct nb_err *err)
{
	const struct nb_jobdir_search search = { nb_params.str[NB_P_SOCKET_DIR],
						 nb_params.str[NB_P_JOB], log_line, NULL };
	struct nb_segment *s;
	int rc = nb_place_open(&search, control ? NB_SEG_PROC_CONTROL : 0, &nb_self.dir,
			       &nb_self.seg, &nb_self.dir_err, err);

	if (rc)
		return rc;
	s = nb_self.seg;
	if (nb_self.dir.dirfd < 0)
		nb_log_err("no control socket, no shared segment", &nb_self.dir_err);
	else
		warn_of_other_dir();
	if (!s->shared && nb_self.dir.dirfd >= 0)
		nb_log(NB_LOG_WARN,
		       "the job segment is not shared (%s): "
		       "policies can be changed only "
		       "in communicators whose ranks are all in this process",
		       s->why);
	publish_settings();
	nb_platform_facts(s->fact);
	if (s->shared && nb_segment_procs(s) == 1)
		remove_leftovers();
	return 0;
}

void nb_self_no_control(void)
{
	struct nb_segment *s = nb_self.seg;

	if (nb_segment_lock(s, 3000, NULL))
		return;
	s->mem->proc[s->proc].flags &= ~(uint32_t)NB_SEG_PROC_CONTROL;
	nb_segment_unlock(s);
}

void nb_self_close(void)
{
	nb_segment_detach(nb_self.seg);
	nb_self.seg = NULL;
	nb_jobdir_close(&nb_self.dir);
}

void nb_self_leave(void)
{
	if (nb_self.seg)
		nb_segment_leave_job(nb_self.seg);
}

bool nb_self_enter(void)
{
	struct nb_segment *s = nb_self.seg;

	if (!s->left)
		return true;
	if (!nb_segment_enter(s, s->membarrier ? NB_SEG_PROC_MEMBARRIER : 0))
		return false;
	s->left = false;
	publish_settings();
	return true;
}

void nb_self_segment(struct nb_segment_info *out)
{
	const struct nb_segment *s = nb_self.seg;

	memset(out, 0, sizeof(*out));
	if (!s) {
		snprintf(out->why, sizeof(out->why), "NCCL has made no communicator yet");
		return;
	}
	out->shared = s->shared;
	out->membarrier = s->membarrier;
	out->processes = nb_segment_procs(nb_self.seg);
	snprintf(out->why, sizeof(out->why), "%s", s->why);
	if (out->shared)
		snprintf(out->path, sizeof(out->path), "%s/%s.seg", nb_self.dir.dir,
			 nb_self.dir.job);
}
