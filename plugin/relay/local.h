// SPDX-License-Identifier: MIT
#ifndef NB_RELAY_LOCAL_H
#define NB_RELAY_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "plugin/runtime/jobdir.h"

/*
 * The relay's end of a control socket. Each connection carries one request. The
 * calls block at most for the time-outs of plugin/relay/local.c.
 */
struct nb_local {
	int fd;	    /* socket of the connection; -1: it is closed */
	int object; /* descriptor that came with a reply, or -1 */
	struct nb_buf in;
};

/* Time within which a process must accept a connection and answer hello. */
enum { NB_LOCAL_CONNECT_MS = 1000, NB_LOCAL_HELLO_MS = 5000 };

/*
 * Write {"rank":…,"pid":…,"ns":…} for each control socket of the job into the
 * open array of @j.
 */
int nb_local_list(const struct nb_jobdir *place, struct nb_json *j, struct nb_err *err);

/*
 * Returns the time @ms from now, as a deadline for the functions below. Several
 * calls may share a deadline.
 */
uint64_t nb_local_until(int ms);
/* A process: its PID, and the PID namespace of that PID. */
struct nb_local_id {
	uint64_t ns; /* 0: any */
	int pid;
};
/* Read "[NAMESPACE.]PID". Returns the end of the text that was read. */
const char *nb_local_id_parse(struct nb_local_id *out, const char *text);

/*
 * nb_local_begin - connect to process @who and send hello
 * @until: deadline if the process's backlog is full
 *
 * Returns 0, NB_E_NOTARGET or NB_E_IO. nb_local_greeted waits for the answer
 * and returns 0, NB_E_NOTARGET, NB_E_TIMEOUT or NB_E_PROTOCOL. The caller
 * closes @l in any case.
 */
int nb_local_begin(struct nb_local *l, const struct nb_jobdir *place, const struct nb_local_id *who,
		   uint64_t until, struct nb_err *err);
int nb_local_greeted(struct nb_local *l, uint64_t until, struct nb_err *err);
void nb_local_close(struct nb_local *l);
/*
 * Send @line of @size bytes and, if @object_size is not 0, an object with it.
 */
int nb_local_send(struct nb_local *l, const char *line, size_t size, const void *object,
		  size_t object_size, struct nb_err *err);
/*
 * Wait until @until for the next line. Returns 1 if l->in.data has a line of
 * *@size bytes, including its line feed. Returns 0 if there is no line yet.
 * Otherwise returns NB_E_NOTARGET (the connection is closed) or NB_E_PROTOCOL.
 * The caller removes the line with nb_local_drop.
 */
int nb_local_line(struct nb_local *l, uint64_t until, size_t *size, struct nb_err *err);
void nb_local_drop(struct nb_local *l, size_t size);

#endif
