// SPDX-License-Identifier: MIT
/* The distance of the next fence from the ranks. */
#include "plugin/agent/coordinator/coordinator.h"

enum {
	FIRST_MS = 20,	 /* assumed answer time before the first answer */
	SHORTEST_MS = 2, /* shorter answer times count as this */
	/*
	 * the distance of the fence in ms is this multiple of the answer time
	 */
	LEAD = 2
};

void nb_coord_answered(struct nb_coord *c)
{
	c->answer_ms[c->nanswers++ % NB_COORD_ANSWERS] = nb_agent_ms() - c->arming_ms;
}

/*
 * Before the first answer, the time grows with the number of sites, up to the
 * time of staging, in which each site writes to the store too.
 */
static uint64_t first_ms(const struct nb_coord *c)
{
	uint64_t ms = c->a ? c->a->sites : 0;

	if (ms > c->stage_ms)
		ms = c->stage_ms;
	return ms > FIRST_MS ? ms : FIRST_MS;
}

uint64_t nb_coord_lead_ms(const struct nb_coord *c)
{
	uint64_t most = SHORTEST_MS, second = SHORTEST_MS;

	for (unsigned i = 0; i < NB_COORD_ANSWERS && i < c->nanswers; i++) {
		uint64_t ms = c->answer_ms[i];

		if (ms > most) {
			second = most;
			most = ms;
		} else if (ms > second) {
			second = ms;
		}
	}
	if (!c->nanswers)
		second = first_ms(c);
	else if (c->nanswers == 1)
		second = most;
	/* a rank that is past the fence answers early: try a farther one */
	if (c->tries && second < FIRST_MS)
		second = FIRST_MS;
	return LEAD * second << c->tries;
}
