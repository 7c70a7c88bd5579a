// SPDX-License-Identifier: MIT
#ifndef NB_WIRE_OBJECT_H
#define NB_WIRE_OBJECT_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Objects of the control protocol (docs/protocol.md, Descriptors): the
 * bytes of an image or a table are in a sealed memory file, whose
 * descriptor is sent with the first byte of a request or reply.
 */

/*
 * nb_wire_object_file - create a memory file with @size bytes that nobody can
 * change
 *
 * Returns a descriptor, which the caller closes; or -1, and errno says why.
 * Any thread.
 */
int nb_wire_object_file(const void *bytes, size_t size);

/*
 * nb_wire_send - call sendmsg without waiting and without SIGPIPE
 * @fd: descriptor to send along; -1: none. The kernel sends it with the first
 * byte, so a caller with bytes left passes -1 from then on
 *
 * Returns the number of bytes sent, or -1 and errno, like sendmsg(2).
 */
ssize_t nb_wire_send(int sock, const char *bytes, size_t size, int fd);

struct msghdr;

/*
 * nb_wire_take_fds - take the descriptors of a message that recvmsg filled
 * @fds: room for @most descriptors, which the caller closes. All others are
 * closed: CMSG_SPACE rounds up, so there may be one more than there is room for
 *
 * Returns the number of descriptors in @fds. Any thread.
 */
unsigned nb_wire_take_fds(struct msghdr *m, int *fds, unsigned most);

/*
 * nb_wire_receive - call recvmsg without waiting
 * @fd: descriptor that the caller keeps and closes, or -1. The first
 * descriptor of the message replaces it; all others are closed
 *
 * Returns the number of bytes received, 0 at the end, or -1 and errno, like
 * recvmsg(2).
 */
ssize_t nb_wire_receive(int sock, void *bytes, size_t size, int *fd);

#endif
