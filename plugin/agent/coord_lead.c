// SPDX-License-Identifier: MIT
/*
 * Chooses how far ahead of the ranks the coordinator arms a fence. A short
 * distance makes ranks switch sooner. It cannot cause disagreement, because the
 * coordinator never commits a fence that a rank passed before its site
 * answered.
 */
#include "plugin/agent/coord.h"

enum {
	FIRST_MS = 20, /* assumed answer time before the first answer */
	/*
	 * the distance of the fence in ms is this multiple of the answer time
	 */
	LEAD = 2
};

void nb_coord_lead_init(struct nb_coord *c)
{
	for (int i = 0; i < NB_COORD_ANSWERS; i++)
		c->answer_ms[i] = FIRST_MS;
}

void nb_coord_answered(struct nb_coord *c)
{
	c->answer_ms[c->nanswers++ % NB_COORD_ANSWERS] =
		nb_agent_ms() - c->arming_ms;
}

uint64_t nb_coord_lead_ms(const struct nb_coord *c)
{
	uint64_t most = 0, second = 0, least = c->a ? c->a->sites : 0;

	for (int i = 0; i < NB_COORD_ANSWERS; i++) {
		uint64_t ms = c->answer_ms[i];

		if (ms > most) {
			second = most;
			most = ms;
		} else if (ms > second) {
			second = ms;
		}
	}
	/*
	 * The first armings of a job with many sites have no measured answer
	 * times. Use the time of staging, in which each site writes to the
	 * store too.
	 */
	if (least > c->stage_ms)
		least = c->stage_ms;
	if (c->nanswers < NB_COORD_ANSWERS && second < least)
		second = least;
	return LEAD * second << c->tries;
}
