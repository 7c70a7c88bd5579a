// SPDX-License-Identifier: MIT
#ifndef NB_JOB_SEGMENT_TRACKS_H
#define NB_JOB_SEGMENT_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/job/segment/agree.h"

/*
 * Tracks: the records of one site's segment about communicators that other
 * sites share, as bytes that can be sent. A reader with the tracks of all
 * sites compares the ranks of all sites, of a living job or of segment files
 * after a crash.
 *
 * A site whose ranks agree sends only the ring of the rank that is furthest
 * ahead: a rank elsewhere that differs from this rank differs from all of
 * them.
 */
enum { NB_TRACKS_SITES = 4096, NB_TRACKS_ROOM = 6 << 20 };

/*
 * nb_tracks_write - append the tracks of a segment
 * @one: append only the communicator with identity @only; otherwise append all
 * communicators that other sites share
 * @room: most bytes; communicators that do not fit are counted as left out
 *
 * Returns false if out of memory. Ranks may decide meanwhile.
 */
bool nb_tracks_write(const struct nb_job *job, bool one, uint64_t only, size_t room,
		     struct nb_buf *out);

struct nb_tracks {
	const char *site;
	const void *bytes;
	size_t size;
};

/*
 * nb_tracks_json - compare the ranks of all sites, as members of a JSON object
 * that is open
 *
 * The members are those of nb_job_json, with "site" as well. Returns 0,
 * NB_E_LIMIT (too many sites), NB_E_FORMAT (the bytes are no tracks),
 * NB_E_VERSION or NB_E_NOMEM.
 */
int nb_tracks_json(const struct nb_tracks *site, size_t n, bool one, uint64_t only, size_t room,
		   struct nb_json *out, struct nb_err *err);

#endif
