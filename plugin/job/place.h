// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_PLACE_H
#define NB_PLUGIN_JOB_PLACE_H

#include "plugin/job/segment.h"
#include "plugin/runtime/jobdir.h"

/*
 * nb_place_open - choose the job directory, and attach to the job's segment
 * @flags: NB_SEG_PROC_* of this process
 * @dir_err: why there is no directory, if @dir->dirfd is -1 on return
 *
 * A directory that passes the checks of nb_jobdir_try may still be read-only or
 * full. Then the next one is used, and the processes of a job meet in the same
 * one. If none has room, the segment is private memory ((*out)->why says why)
 * and the first directory has the control socket. Returns 0 or NB_E_NOMEM.
 */
int nb_place_open(const struct nb_jobdir_search *search, uint32_t flags, struct nb_jobdir *dir,
		  struct nb_segment **out, struct nb_err *dir_err, struct nb_err *err);
/*
 * Open the directory in which the job's segment has a living process. Returns
 * false if no process of the job lives; @dir->dirfd is then -1.
 */
bool nb_place_find(const struct nb_jobdir_search *search, struct nb_jobdir *dir);

#endif
