// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROLLER_MAILBOX_H
#define NB_PLUGIN_CONTROLLER_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * The board: a file <job>.loop beside the segment, where the processes of a
 * job post what controllers need. Each process has a place, by its number in
 * the segment, with three sheets, which it alone writes and all read. A sheet
 * is written and read in one piece and carries its own digest, so one that is
 * half written, of a full file system, or scribbled over is no sheet. Nothing
 * is mapped: no other process can raise a signal here.
 */
enum nb_sheet {
	NB_SHEET_STATE,	 /* who it is, what the elected process asks for */
	NB_SHEET_CHANGE, /* what a run changed, for all to stage */
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
 * Whether it is whole is not looked at: cheap, for who waits for a sheet that
 * is then read.
 */
bool nb_mailbox_begins(const struct nb_mailbox *b, uint32_t place,
		       enum nb_sheet sheet, const void *bytes, size_t size);

/* nb_mailbox_open - open or make the file @name in @dirfd. 0, NB_E_IO. */
int nb_mailbox_open(struct nb_mailbox *b, int dirfd, const char *name,
		    struct nb_err *err);
void nb_mailbox_close(struct nb_mailbox *b); /* not open is fine */

/* Post a sheet at @place, in place of the one before. 0, NB_E_LIMIT, NB_E_IO,
 * NB_E_NOMEM. All signals must be blocked (SIGXFSZ). */
int nb_mailbox_post(struct nb_mailbox *b, uint32_t place, enum nb_sheet sheet,
		    const void *bytes, size_t size, struct nb_err *err);

/*
 * nb_mailbox_read - the sheet at @place, into @out (made here, freed by the
 * caller)
 *
 * false: there is none that is whole.
 */
bool nb_mailbox_read(const struct nb_mailbox *b, uint32_t place,
		     enum nb_sheet sheet, struct nb_buf *out);

#endif
