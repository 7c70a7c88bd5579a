// SPDX-License-Identifier: MIT
/* Send and receive objects of the control protocol; clients use this. */
#include "core/job/wire/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Write at offset 0 without moving the file offset, which the receiver of
 * the descriptor shares. */
static int object_write(int fd, const char *p, size_t size)
{
	off_t at = 0;

	while (size) {
		ssize_t n = pwrite(fd, p, size, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int nb_wire_object_file(const void *bytes, size_t size)
{
	int fd = memfd_create("ncclbpf-object", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int saved;

	if (fd < 0)
		return -1;
	if (!object_write(fd, bytes, size) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

ssize_t nb_wire_send(int sock, const char *bytes, size_t size, int fd)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, size };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} ctl = { .bytes = { 0 } };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = ctl.bytes;
		m.msg_controllen = sizeof(ctl.bytes);
		ctl.head.cmsg_level = SOL_SOCKET;
		ctl.head.cmsg_type = SCM_RIGHTS;
		ctl.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.head), &fd, sizeof(fd));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

unsigned nb_wire_take_fds(struct msghdr *m, int *fds, unsigned most)
{
	unsigned taken = 0;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
			if (taken < most)
				fds[taken++] = fd;
			else
				close(fd);
		}
	}
	return taken;
}

ssize_t nb_wire_receive(int sock, void *bytes, size_t size, int *fd)
{
	struct iovec iov = { bytes, size };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.bytes,
			    .msg_controllen = sizeof(ctl.bytes) };
	ssize_t n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int first;

	if (n >= 0 && nb_wire_take_fds(&m, &first, 1)) {
		if (*fd >= 0)
			close(*fd);
		*fd = first;
	}
	return n;
}
