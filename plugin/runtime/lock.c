// SPDX-License-Identifier: MIT
/*
 * The locks of the process. They form one array, so that fork can take all of
 * them in order.
 */
#include "plugin/runtime/lock.h"

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t locks[NB_NLOCKS] = {
	[NB_LOCK_STATE] = PTHREAD_MUTEX_INITIALIZER,
	[NB_LOCK_WRAP] = PTHREAD_MUTEX_INITIALIZER,
};

#ifdef NDEBUG
static void lock_taken(enum nb_lock which)
{
	(void)which;
}

static void lock_released(enum nb_lock which)
{
	(void)which;
}
#else
/* bit set of the locks that this thread holds */
static __thread unsigned lock_held;

static void lock_taken(enum nb_lock which)
{
	assert(!(lock_held >> which));
	lock_held |= 1u << which;
}

static void lock_released(enum nb_lock which)
{
	lock_held &= ~(1u << which);
}
#endif

void nb_lock(enum nb_lock which)
{
	lock_taken(which);
	pthread_mutex_lock(&locks[which]);
}

void nb_unlock(enum nb_lock which)
{
	pthread_mutex_unlock(&locks[which]);
	lock_released(which);
}

void nb_lock_all(void)
{
	for (int i = 0; i < NB_NLOCKS; i++)
		nb_lock((enum nb_lock)i);
}

void nb_unlock_all(void)
{
	for (int i = NB_NLOCKS; i-- > 0;)
		nb_unlock((enum nb_lock)i);
}
