// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_LOCK_H
#define NB_PLUGIN_RUNTIME_LOCK_H

/*
 * The locks of the process, in the order in which a thread takes them:
 *
 *	process start    process.c, while the process object is made
 *	job segment      nb_segment_lock, between processes
 *	NB_LOCK_STATE    policies, generations, changes and communicators. They share one:
 *	                 the process keeps each generation that a communicator can reach, and
 *	                 holds each policy of a kept generation, so a sweep must see all these
 *	                 lists at one moment, and a rank that registers must take the baseline
 *	                 and enter the list in one step
 *	NB_LOCK_WRAP     the table of wrapped plugins
 *	profiler, net    private to their files; a thread takes no other lock
 *	                 while it holds one
 *
 * A decision takes none of them. A debug build asserts the order of the
 * NB_LOCK_ ones.
 */
enum nb_lock { NB_LOCK_STATE, NB_LOCK_WRAP, NB_NLOCKS };

void nb_lock(enum nb_lock which);
void nb_unlock(enum nb_lock which);

/*
 * Handlers of fork(2): take all locks before it, and release all of them in the
 * parent and in the child.
 */
void nb_lock_all(void);
void nb_unlock_all(void);

#endif
