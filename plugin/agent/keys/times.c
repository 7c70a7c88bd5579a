// SPDX-License-Identifier: MIT
/* The table of the agent's times, and its clock. */
#include "plugin/agent/keys/times.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/runtime/clock.h"

enum { MOST_MS = 1 << 30 };

struct nb_agent_times nb_agent_times = {
#define TIME(name, ms, what) .name = (ms),
	NB_AGENT_TIME_ROWS(TIME)
#undef TIME
};

static const struct {
	const char *name;
	size_t at;
} rows[] = {
#define TIME(name, ms, what) { #name, offsetof(struct nb_agent_times, name) },
	NB_AGENT_TIME_ROWS(TIME)
#undef TIME
};

static bool times_set_one(const char *name, size_t size, uint64_t ms)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].name) == size && !memcmp(rows[i].name, name, size)) {
			memcpy((char *)&nb_agent_times + rows[i].at, &ms, sizeof(ms));
			return true;
		}
	return false;
}

bool nb_agent_times_set(const char *text)
{
	while (*text) {
		size_t size = strcspn(text, "=,");
		char *end = NULL;
		uint64_t ms;

		if (text[size] != '=')
			return false;
		ms = strtoull(text + size + 1, &end, 10);
		if (text[size + 1] < '0' || text[size + 1] > '9' || ms > MOST_MS ||
		    (*end && *end != ',') || !times_set_one(text, size, ms))
			return false;
		text = *end ? end + 1 : end;
	}
	return true;
}

uint64_t nb_agent_ms(void)
{
	return nb_clock_system() / 1000000;
}
