// SPDX-License-Identifier: MIT
/*
 * How far ahead of the ranks the coordinator arms a fence. The distance only
 * decides how soon the ranks switch: a fence that a rank has passed before its
 * site answered is never committed.
 */
#include "plugin/agent/coord.h"

enum {
	FIRST_MS = 20, /* before the first answer is known */
	LEAD = 2       /* multiple of the time that answers took */
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
	uint64_t most = 0, second = 0;

	for (int i = 0; i < NB_COORD_ANSWERS; i++) {
		uint64_t ms = c->answer_ms[i];

		if (ms > most) {
			second = most;
			most = ms;
		} else if (ms > second) {
			second = ms;
		}
	}
	/* nothing is known about the first armings of many sites */
	if (c->nanswers < NB_COORD_ANSWERS && second < c->a->sites)
		second = c->a->sites;
	return LEAD * second << c->tries;
}
