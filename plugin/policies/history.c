// SPDX-License-Identifier: MIT
/*
 * The history of committed generations, for the commands `policy history` and
 * `policy undo`. nb_gens_sweep does not free a generation that the history
 * keeps. The history is therefore short, and drops its oldest entry when the
 * table of generations is full.
 */
#include "plugin/policies/history.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "plugin/job/gen_numbers.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/runtime/params.h"
#include "plugin/runtime/wall_clock.h"

struct nb_history nb_history;

static const char *policy_name_at(const struct nb_gen *g, uint32_t place)
{
	return g->policy[g->order.at[place]].policy->img->name;
}

static void entry_set_names(struct nb_history_entry *e)
{
	size_t at = 0;

	for (uint32_t i = 0; i < e->gen->order.n && at < sizeof(e->names); i++)
		at += (size_t)snprintf(e->names + at, sizeof(e->names) - at, "%s%s", i ? " " : "",
				       policy_name_at(e->gen, i));
}

static void name_scope(struct nb_buf *b, const struct nb_scope *s, const struct nb_gen *view)
{
	nb_buf_printf(b, "%s%s", b->size ? "; " : "", view->order.n ? "" : "none");
	for (uint32_t i = 0; i < view->order.n; i++)
		nb_buf_printf(b, "%s%s", i ? ", " : "", policy_name_at(view, i));
	for (uint32_t i = 0; i < s->ncomms; i++)
		nb_buf_printf(b, "%s%016llx", i ? ", " : " for ", (unsigned long long)s->comm[i]);
}

static void name_scopes(struct nb_history_entry *e)
{
	struct nb_buf b;

	nb_buf_init(&b, SIZE_MAX);
	for (uint32_t i = 0; i < e->gen->nviews; i++)
		name_scope(&b, &e->gen->scopes.scope[i], e->gen->view[i]);
	if (b.size)
		snprintf(e->scoped, sizeof(e->scoped), "%.*s", (int)b.size, nb_buf_text(&b));
	nb_buf_fini(&b);
}

void nb_history_note(uint32_t number, struct nb_gen *g, bool loop)
{
	struct nb_history *h = &nb_history;
	struct nb_history_entry *e = h->entry;

	if (h->n && e->number == number && e->gen == g)
		return;
	if (!loop || !h->n || !e->loop) {
		if (h->n < NB_HISTORY)
			h->n++;
		memmove(e + 1, e, (h->n - 1) * sizeof(*e));
	}
	*e = (struct nb_history_entry){
		.number = number, .gen = g, .loop = loop, .shown = nb_history_number(number)
	};
	memcpy(e->digest, g->digest, sizeof(e->digest));
	entry_set_names(e);
	name_scopes(e);
	if (!nb_self.seg || !nb_segment_signed(nb_self.seg, number, &e->at_s, &e->maker))
		e->at_s = nb_wall_us() / 1000000;
}

bool nb_history_keeps(const struct nb_gen *g)
{
	for (uint32_t i = 0; i < nb_history.n; i++)
		if (nb_history.entry[i].gen == g)
			return true;
	return false;
}

bool nb_history_has(const struct nb_policy *p)
{
	for (uint32_t i = 0; i < nb_history.n; i++)
		if (nb_gen_has(nb_history.entry[i].gen, p))
			return true;
	return false;
}

void nb_history_forget(const struct nb_policy *p)
{
	for (uint32_t i = 0; i < nb_history.n; i++)
		if (nb_gen_has(nb_history.entry[i].gen, p))
			nb_history.entry[i].gen = NULL;
}

bool nb_history_thin(void)
{
	for (uint32_t i = nb_history.n; i-- > 1;)
		if (nb_history.entry[i].gen) {
			nb_history.entry[i].gen = NULL;
			return true;
		}
	return false;
}

uint64_t nb_history_number(uint32_t number)
{
	return nb_params_fleet() && nb_self.seg ? nb_segment_fleet_number(nb_self.seg, number)
						: number;
}

struct nb_gen *nb_history_find(uint32_t number)
{
	for (uint32_t i = 0; i < nb_history.n; i++)
		if (nb_history.entry[i].shown == number)
			return nb_history.entry[i].gen;
	return NULL;
}
