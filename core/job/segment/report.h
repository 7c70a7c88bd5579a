// SPDX-License-Identifier: MIT
#ifndef NB_JOB_SEGMENT_REPORT_H
#define NB_JOB_SEGMENT_REPORT_H

#include <stdbool.h>

#include "core/base/json.h"
#include "core/job/segment/agree.h"

/*
 * nb_job_json - agreement of the communicators of a job, as members of a
 *               JSON object that is open
 * @path:  the segment's file, NULL: none
 * @only:  a communicator's identity, with @one; else all
 *
 *	{"segment":path,"agree":bool,"comms":[{"comm","verdict","ranks",
 *	"here","clock","compared_to","seq","earlier","extra","extra_slot","offers":[{"slot","rank",
 *	"seq","coll","bytes","usable"}],"members":[{"slot","rank",
 *	"pid","live","decisions","calls","generation","policies","hash","waits",
 *	"differs","decision":{"coll","bytes","algo","proto","channels",
 *	"usable","generation","by"} or null}]}],"left_out":n}
 *
 * offers: two decisions of which NCCL offered different combinations. Members
 * are listed if the ranks differ, or with @one. left_out: number of
 * communicators that did not fit into @room bytes.
 */
void nb_job_json(const struct nb_job *job, const char *path, bool one, uint64_t only, size_t room,
		 struct nb_json *out);

/* Is there nothing to report: neither a difference nor a mismatch? */
bool nb_agreement_fine(enum nb_agreement v);

/* Facts about the ranks of several sites, in addition to their struct
 * nb_agree. */
struct nb_report_sites {
	const char *const *name; /* Name of each site. */
	const char *const
		/* Policy names of each rank, as nb_job_policies writes them. */
		*policies;
};

/*
 * Write one element of "comms" and, with @s, the number of "sites";
 * members, which are sorted by site, then have their "site" too. @members:
 * list them.
 */
void nb_agree_json(const struct nb_agree *a, const struct nb_report_sites *s, bool members,
		   struct nb_json *j);

/*
 * nb_agree_text - name the first diverged decision, in one sentence
 *
 * "the first decision that differs is number 300: slot 0 (pid 7) all_reduce
 * 4096 bytes ring/ll, slot 1 ...". @a is broken (nb_agree_broken). Cut to
 * @size.
 */
void nb_agree_text(const struct nb_agree *a, char *text, size_t size);

#endif
