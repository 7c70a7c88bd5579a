// SPDX-License-Identifier: MIT
/* The profiler's state in this process, and its counts of lost events. */
#include "plugin/profiler/state.h"

#include "plugin/runtime/log.h"
#include "plugin/runtime/relaxed.h"

struct nb_prof nb_prof = { .lock = PTHREAD_MUTEX_INITIALIZER };

void nb_events_lose(enum nb_lost why)
{
	__atomic_fetch_add(&nb_prof.lost[why], 1, __ATOMIC_RELAXED);
}

uint64_t nb_events_lost(enum nb_lost why)
{
	return GET(nb_prof.lost[why]);
}

static const struct {
	enum nb_log_level level;
	const char *word, *text;
} losses[NB_NLOST] = {
#define LOST(name, word, level, text) [NB_LOST_##name] = { NB_LOG_##level, word, text },
#include "core/defs/lost.h"
};

const char *nb_lost_word(enum nb_lost why)
{
	return why < NB_NLOST ? losses[why].word : NULL;
}

bool nb_lost_grave(enum nb_lost why)
{
	return losses[why].level == NB_LOG_WARN;
}

void nb_events_tell(void)
{
	for (int i = 0; i < NB_NLOST; i++) {
		uint64_t n = GET(nb_prof.lost[i]);

		if (!n || __atomic_fetch_or(&nb_prof.told, 1u << i, __ATOMIC_RELAXED) >> i & 1)
			continue;
		nb_log(losses[i].level,
		       "profiler: %llu event%s %s: not measured; more are only counted (stats: %s)",
		       (unsigned long long)n, n == 1 ? "" : "s", losses[i].text, losses[i].word);
	}
}
