// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROLLER_MAILBOX_H
#define NB_PLUGIN_CONTROLLER_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * The controllers' mailbox: a file <job>.loop beside the segment. Each process
 * has a place in it, by its number in the segment, with three sheets that it
 * alone writes and all read. A sheet is written and read in one piece and
 * carries its digest, so readers reject one that is half written, truncated by
 * a full file system, or overwritten. The file is not mapped, so no other
 * process can cause a signal here.
 */
enum nb_sheet {
	NB_SHEET_STATE,	 /* the process's state; the elected one's also has its
			    requests */
	NB_SHEET_CHANGE, /* changes of a run, which all processes stage */
	NB_SHEET_MAPS,	 /* merged maps */
	NB_NSHEETS
};

struct nb_mailbox {
	int fd; /* -1: not open */
	uint64_t seq[NB_NSHEETS];
};

/*
 * nb_mailbox_begins - does the sheet at @place begin with these bytes?
 *
 * A cheap check before nb_mailbox_read; it does not verify the digest.
 */
bool nb_mailbox_begins(const struct nb_mailbox *b, uint32_t place,
		       enum nb_sheet sheet, const void *bytes, size_t size);

/* nb_mailbox_open - open or make the file @name in @dirfd. 0, NB_E_IO. */
int nb_mailbox_open(struct nb_mailbox *b, int dirfd, const char *name,
		    struct nb_err *err);
void nb_mailbox_close(struct nb_mailbox *b); /* it may be closed already */

/* Post a sheet at @place, replacing the previous one. 0, NB_E_LIMIT, NB_E_IO,
 * NB_E_NOMEM. All signals must be blocked (SIGXFSZ). */
int nb_mailbox_post(struct nb_mailbox *b, uint32_t place, enum nb_sheet sheet,
		    const void *bytes, size_t size, struct nb_err *err);

/*
 * nb_mailbox_read - the sheet at @place, into @out (made here, freed by the
 * caller)
 *
 * False: there is no valid sheet.
 */
bool nb_mailbox_read(const struct nb_mailbox *b, uint32_t place,
		     enum nb_sheet sheet, struct nb_buf *out);

#endif
