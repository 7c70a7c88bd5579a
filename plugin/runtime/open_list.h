// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_OPEN_LIST_H
#define NB_PLUGIN_RUNTIME_OPEN_LIST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A list of open objects of one kind (connections or collComms), the oldest
 * first. An object contains its link. Opening, closing and reading hold the
 * list's lock; the data path never does.
 */
struct nb_open_link {
	struct nb_open_link *before, *behind;
	bool listed;
};

struct nb_open_list {
	pthread_mutex_t lock;
	struct nb_open_link *first, *last;
	/* number of errors that belong to no object; accessed atomically */
	uint64_t errors;
};
#define NB_OPEN_LIST_INIT                         \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Returns the object of type @type whose member @member is @link. */
#define nb_open_of(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* The caller of the two functions below holds the list's lock. */
void nb_open_list_add(struct nb_open_list *l, struct nb_open_link *link);
/* Returns false if @link is in no list. */
bool nb_open_list_remove(struct nb_open_list *l, struct nb_open_link *link);

/*
 * Count an error of a call that belongs to no object. Any thread may call it.
 */
void nb_open_list_error(struct nb_open_list *l);
/* In a forked child, forget the parent's objects and errors. */
void nb_open_list_forked(struct nb_open_list *l);

#endif
