// SPDX-License-Identifier: MIT
/* Tells the log that this site of a fleet has no working agent. */
#include "plugin/job/no_agent.h"

#include <stdio.h>

#include "plugin/job/registry.h"
#include "plugin/job/self.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

enum {
	/* log a warning if the site has no agent for this time */
	ABSENT_MS = 8000,
	/* or if the agent makes no progress for this time */
	SILENT_MS = 15000
};

/* Only the control thread uses it. */
static struct {
	uint64_t missing_ms; /* the site has no agent since; 0: it has one */
	bool told_absent, told_silent;
} site;

const char *nb_no_agent_hint(void)
{
	static char hint[sizeof(nb_self.dir.dir) + sizeof(nb_self.dir.job) + 100];

	snprintf(hint, sizeof(hint),
		 "start it with the job's NCCLBPF_FLEET variables: "
		 "ncclbpf-agent --job %s --dir %s",
		 nb_self.dir.job, nb_self.dir.dir);
	return hint;
}

void nb_store_back_text(char *text, size_t size)
{
	const struct nb_seg_agent *a = nb_self.seg ? &nb_self.seg->mem->agent : NULL;
	uint64_t back = a ? __atomic_load_n(&a->back_from, __ATOMIC_ACQUIRE) : 0;

	*text = '\0';
	if (back)
		snprintf(text, size,
			 "the store has gone back from revision %llu to %llu: "
			 "was it restored from a backup?",
			 (unsigned long long)back, (unsigned long long)a->back_to);
}

/*
 * Nothing else than an agent can end the wait of a rank at an armed fence,
 * because the rank cannot know what the other sites have decided.
 */
static void tell_absent(uint64_t now)
{
	if (!site.missing_ms)
		site.missing_ms = now;
	if (site.told_absent || now < site.missing_ms + ABSENT_MS)
		return;
	nb_log(NB_LOG_WARN,
	       "no agent has run on this site for %d s: "
	       "no change reaches the site, "
	       "and a rank at an armed fence waits until an agent runs; "
	       "%s (as a service it needs Restart=always)",
	       ABSENT_MS / 1000, nb_no_agent_hint());
	site.told_absent = true;
}

static void tell_silent(uint64_t now, uint64_t pid)
{
	uint64_t beat = __atomic_load_n(&nb_self.seg->mem->agent.beat_ms, __ATOMIC_ACQUIRE);

	if (!beat || now < beat + SILENT_MS) {
		site.told_silent = false;
		return;
	}
	if (!site.told_silent)
		nb_log(NB_LOG_WARN,
		       "agent %llu has been silent for %llu ms: "
		       "no change reaches the site. "
		       "If it is stopped, continue it (kill -CONT %llu), "
		       "else end it and start another one",
		       (unsigned long long)pid, (unsigned long long)(now - beat),
		       (unsigned long long)pid);
	site.told_silent = true;
}

void nb_no_agent_tick(void)
{
	uint64_t now = nb_clock_system() / 1000000, pid, start;

	if (!nb_params_fleet() || !nb_self.seg || !nb_self.seg->shared)
		return;
	if (!nb_segment_agent(nb_self.seg, &pid, &start)) {
		tell_absent(now);
		return;
	}
	if (site.told_absent)
		nb_log(NB_LOG_INFO, "an agent runs on this site again");
	site.told_absent = false;
	site.missing_ms = 0;
	tell_silent(now, pid);
}
