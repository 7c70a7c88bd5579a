// SPDX-License-Identifier: MIT
#ifndef NB_RELAY_LOCAL_H
#define NB_RELAY_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "plugin/runtime/jobdir.h"

/*
 * A client of control sockets (docs/protocol.md), for the relay and for the
 * site's orders. Each connection carries one request after the other. The calls
 * block at most until their deadlines, or for the time-outs of local.c.
 */
struct nb_local {
	char name[NB_JOBDIR_NAME]; /* of the socket */
	int fd;			   /* socket of the connection; -1: it is closed */
	int object;		   /* descriptor that came with a reply, or -1 */
	struct nb_buf in;
};

/* Time within which a process must accept a connection and answer hello. */
enum { NB_LOCAL_CONNECT_MS = 1000, NB_LOCAL_HELLO_MS = 5000 };

/*
 * Call @fn for the control socket of each process of the job, until it returns
 * false. @name: file name of the socket. Returns 0 or NB_E_IO.
 */
typedef bool nb_local_each_fn(void *arg, const char *name, const struct nb_jobdir_process *of);
int nb_local_each(const struct nb_jobdir *place, nb_local_each_fn *fn, void *arg,
		  struct nb_err *err);
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
 * Connect to the socket @name. @until: deadline if the process's backlog is
 * full. Returns 0, NB_E_TIMEOUT (the backlog stays full), NB_E_NOTARGET or
 * NB_E_IO. The caller closes @l in any case.
 */
int nb_local_connect(struct nb_local *l, const struct nb_jobdir *place, const char *name,
		     uint64_t until, struct nb_err *err);
/*
 * nb_local_begin - connect to process @who and send hello
 *
 * Returns as nb_local_connect does. nb_local_greeted waits for the answer and
 * returns 1, 0 (none until @until), NB_E_NOTARGET or NB_E_PROTOCOL.
 */
int nb_local_begin(struct nb_local *l, const struct nb_jobdir *place, const struct nb_local_id *who,
		   uint64_t until, struct nb_err *err);
int nb_local_greeted(struct nb_local *l, uint64_t until, struct nb_err *err);
void nb_local_close(struct nb_local *l);
/* Send @line of @size bytes, and the descriptor @fd with it unless it is -1. */
int nb_local_send(struct nb_local *l, const char *line, size_t size, int fd, struct nb_err *err);
/*
 * Wait until @until for the next line. Returns 1 if l->in.data has a line of
 * *@size bytes, including its line feed. Returns 0 if there is no line yet.
 * Otherwise returns NB_E_NOTARGET (the connection is closed) or NB_E_PROTOCOL.
 * The caller removes the line with nb_local_drop.
 */
int nb_local_line(struct nb_local *l, uint64_t until, size_t *size, struct nb_err *err);
void nb_local_drop(struct nb_local *l, size_t size);
/*
 * Read the whole object that came with a reply, at most @most bytes. The caller
 * frees *@bytes, which is NULL if none came. Returns 0, NB_E_PROTOCOL or
 * NB_E_NOMEM.
 */
int nb_local_object(struct nb_local *l, void **bytes, size_t *size, size_t most,
		    struct nb_err *err);

#endif
