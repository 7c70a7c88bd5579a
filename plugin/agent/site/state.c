// SPDX-License-Identifier: MIT
/* The agent's log, its names of keys, and what it says about the store. */
#include "plugin/agent/site/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugin/job/segment.h"

enum {
	/* high estimate of the time that the store needs for one site */
	SITE_WRITE_MS = 8,
	CROWD_MS = 9000
};

uint64_t nb_agent_crowd(const struct nb_agent *a)
{
	uint64_t ms = (uint64_t)a->sites * SITE_WRITE_MS;

	return ms < CROWD_MS ? ms : CROWD_MS;
}

/* Returns true if the key is one that no agent watches. */
static bool key_is_data(const char *key)
{
	return !strncmp(key, "image/", 6) || !strncmp(key, "audit/", 6) ||
	       !strncmp(key, "reply/", 6);
}

const char *nb_agent_key(const struct nb_agent *a, const char *key)
{
	static char text[4][NB_STORE_KEY_SIZE];
	static unsigned next;
	char *to = text[next++ % 4];

	if (key_is_data(key))
		snprintf(to, NB_STORE_KEY_SIZE, "/ncclbpf/1-data/%s/%s", a->dir.job, key);
	else
		snprintf(to, NB_STORE_KEY_SIZE, "%s%s", a->own.prefix, key);
	return to;
}

void nb_agent_log(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "ncclbpf-agent: %s\n", line);
}

void nb_agent_revision(struct nb_agent *a, int64_t rev)
{
	uint64_t *at = &a->site.seg->mem->agent.revision;

	if (rev > 0 && (uint64_t)rev > *at)
		*at = (uint64_t)rev;
}

void nb_agent_state(struct nb_agent *a, bool answers, const char *text)
{
	struct nb_seg_agent *to = &a->site.seg->mem->agent;

	if (answers && a->away_ms)
		nb_agent_log("the store answers again after %llu ms",
			     (unsigned long long)(nb_agent_ms() - a->away_ms));
	if (answers)
		a->away_ms = 0;
	if (strcmp(a->text, text)) {
		snprintf(a->text, sizeof(a->text), "%s", text);
		if (*text && answers)
			nb_agent_log("%s", text);
		snprintf(to->text, sizeof(to->text), "%s", text);
	}
	__atomic_store_n(&to->store, answers, __ATOMIC_RELEASE);
}

/*
 * Log only the first failure of each kind, since all requests and watches fail
 * while the store is away.
 */
void nb_agent_failed(struct nb_agent *a, const struct nb_err *err)
{
	int code = err->code == NB_E_TIMEOUT ? NB_E_STORE : err->code;
	bool told = a->away_ms && code == a->away_code;
	char text[NB_SEG_TEXT];

	if (a->leaving)
		return;
	if (!a->away_ms)
		a->away_ms = nb_agent_ms();
	a->away_code = code;
	snprintf(text, sizeof(text), "store: %.392s", err->text);
	if (!told)
		nb_agent_log("%s", text);
	nb_agent_state(a, false, text);
}
