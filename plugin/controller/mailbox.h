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
 * has three records (enum nb_mailbox_record) in it, at the position of its
 * entry in the segment. Only that process writes them, and all processes read
 * them. One system call writes or reads a record, which contains its digest. Readers
 * therefore reject a record that is partly written, truncated by a full file
 * system, or overwritten. The file is not mapped, so no other process can cause
 * a signal here.
 */
enum nb_mailbox_record {
	/* the process's state; the elected process adds its requests */
	NB_MAILBOX_STATE,
	NB_MAILBOX_CHANGE, /* changes of a run, which all processes stage */
	NB_MAILBOX_MAPS,   /* the merged maps of the process */
	NB_MAILBOX_RECORDS
};

struct nb_mailbox {
	int fd;		/* file descriptor; -1: the file is not open */
	char path[160]; /* for messages, maybe cut */
	uint64_t seq[NB_MAILBOX_RECORDS];
};

/*
 * nb_mailbox_begins - check whether the record at @place begins with these
 * bytes
 *
 * It is a cheap check before nb_mailbox_read and does not verify the digest.
 */
bool nb_mailbox_begins(const struct nb_mailbox *b, uint32_t place, enum nb_mailbox_record record,
		       const void *bytes, size_t size);

/* nb_mailbox_open - open or create the file @name in @dir. Returns 0 or NB_E_IO. */
struct nb_jobdir;
int nb_mailbox_open(struct nb_mailbox *b, const struct nb_jobdir *dir, const char *name,
		    struct nb_err *err);
/* the mailbox may be closed already */
void nb_mailbox_close(struct nb_mailbox *b);

/*
 * Post a record at @place, which replaces the previous record there. Returns
 * 0, NB_E_LIMIT, NB_E_IO or NB_E_NOMEM. All signals must be blocked, because a
 * file size limit causes SIGXFSZ.
 */
int nb_mailbox_post(struct nb_mailbox *b, uint32_t place, enum nb_mailbox_record record,
		    const void *bytes, size_t size, struct nb_err *err);

/*
 * nb_mailbox_read - read the record at @place into @out
 *
 * @out is initialised here and freed by the caller. Returns false if there is
 * no valid record. A record that is being written is read again.
 */
bool nb_mailbox_read(const struct nb_mailbox *b, uint32_t place, enum nb_mailbox_record record,
		     struct nb_buf *out);

#endif
