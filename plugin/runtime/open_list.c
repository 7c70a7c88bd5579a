// SPDX-License-Identifier: MIT
/* Adds open objects to a list and removes them. */
#include "plugin/runtime/open_list.h"

void nb_open_list_add(struct nb_open_list *l, struct nb_open_link *link)
{
	link->before = l->last;
	link->behind = NULL;
	if (l->last)
		l->last->behind = link;
	else
		l->first = link;
	l->last = link;
	link->listed = true;
}

bool nb_open_list_remove(struct nb_open_list *l, struct nb_open_link *link)
{
	if (!link->listed)
		return false;
	*(link->before ? &link->before->behind : &l->first) = link->behind;
	*(link->behind ? &link->behind->before : &l->last) = link->before;
	link->listed = false;
	return true;
}

void nb_open_list_error(struct nb_open_list *l)
{
	__atomic_fetch_add(&l->errors, 1, __ATOMIC_RELAXED);
}

void nb_open_list_forked(struct nb_open_list *l)
{
	pthread_mutex_init(&l->lock, NULL);
	/* another thread may have added an object during the fork */
	for (struct nb_open_link *at = l->first; at; at = at->behind)
		at->listed = false;
	l->first = l->last = NULL;
	__atomic_store_n(&l->errors, 0, __ATOMIC_RELAXED);
}
