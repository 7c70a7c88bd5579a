// SPDX-License-Identifier: MIT
/* The controllers' mailbox: a file of records, each with its own digest. */
#include "plugin/controller/mailbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/sha256.h"
#include "core/bpf/generation/controller.h"
#include "plugin/runtime/jobdir.h"

#define MAGIC UINT64_C(0x31647262666263) /* The string "cbfbrd1". */

struct head {
	uint64_t magic, seq, size;
	/* digest of the record's seq, size and bytes */
	uint8_t digest[NB_SHA256_SIZE];
};

/* the headers (nb_controllers_maps, record_change) fit into 128 bytes */
enum { MAPS_MOST = NB_CONTROLLER_MAPS_BYTES + 128, CHANGE_MOST = NB_CONTROLLER_CHANGE_BYTES + 128 };

/*
 * Positions of the records. The file is sparse, so unwritten parts use no
 * space.
 */
static const struct {
	uint64_t at, most;
} records[NB_MAILBOX_RECORDS] = {
	[NB_MAILBOX_STATE] = { 0, 4096 - sizeof(struct head) },
	[NB_MAILBOX_CHANGE] = { 4096, CHANGE_MOST },
	[NB_MAILBOX_MAPS] = { 1 << 19, MAPS_MOST },
};
static const uint64_t place_bytes = UINT64_C(1) << 21;

static off_t record_offset(uint32_t place, enum nb_mailbox_record record)
{
	return (off_t)(place * place_bytes + records[record].at);
}

static void record_digest(const struct head *h, const void *bytes, uint8_t digest[NB_SHA256_SIZE])
{
	struct nb_sha256 s;

	nb_sha256_init(&s);
	nb_sha256_add(&s, &h->seq, sizeof(h->seq));
	nb_sha256_add(&s, &h->size, sizeof(h->size));
	nb_sha256_add(&s, bytes, h->size);
	nb_sha256_end(&s, digest);
}

int nb_mailbox_open(struct nb_mailbox *b, const struct nb_jobdir *dir, const char *name,
		    struct nb_err *err)
{
	struct stat st;

	*b = (struct nb_mailbox){ .fd = -1 };
	snprintf(b->path, sizeof(b->path), "%.100s/%.50s", dir->dir, name);
	b->fd = openat(dir->dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		       0600);
	if (b->fd < 0)
		return nb_fail(err, NB_E_IO, 0, "the controllers' mailbox %s cannot be opened: %s",
			       b->path, strerror(errno));
	(void)fchmod(b->fd, 0600); /* the umask may have removed bits */
	if (!fstat(b->fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		return 0;
	nb_mailbox_close(b);
	return nb_fail(err, NB_E_IO, 0, "the controllers' mailbox %s is not a file of uid %u",
		       b->path, (unsigned)geteuid());
}

void nb_mailbox_close(struct nb_mailbox *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}

static int write_at(int fd, const char *p, size_t size, off_t at)
{
	while (size) {
		ssize_t n = pwrite(fd, p, size, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EIO;
		p += n;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int nb_mailbox_post(struct nb_mailbox *b, uint32_t place, enum nb_mailbox_record record,
		    const void *bytes, size_t size, struct nb_err *err)
{
	struct head h = { MAGIC, ++b->seq[record], size, { 0 } };
	struct nb_buf all;
	int rc;

	if (b->fd < 0 || size > records[record].most)
		return nb_fail(err, NB_E_LIMIT, 0, "%zu bytes for the mailbox (allowed: %llu)",
			       size, (unsigned long long)records[record].most);
	record_digest(&h, bytes, h.digest);
	nb_buf_init(&all, 0);
	nb_buf_bytes(&all, &h, sizeof(h));
	nb_buf_bytes(&all, bytes, size);
	if (!nb_buf_ok(&all)) {
		nb_buf_fini(&all);
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for %zu bytes", size);
	}
	rc = write_at(b->fd, all.data, all.size, record_offset(place, record));
	nb_buf_fini(&all);
	if (rc)
		return nb_fail(err, NB_E_IO, 0, "the controllers' mailbox %s: %s", b->path,
			       strerror(rc));
	return 0;
}

/*
 * Read the record with one pread. Several reads would more often return a mix
 * of two versions.
 */
static bool read_at(int fd, struct nb_buf *out, size_t size, off_t at)
{
	ssize_t n;

	nb_buf_zeros(out, size);
	if (!nb_buf_ok(out))
		return false;
	do
		n = pread(fd, out->data, size, at);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}

bool nb_mailbox_begins(const struct nb_mailbox *b, uint32_t place, enum nb_mailbox_record record,
		       const void *bytes, size_t size)
{
	struct {
		struct head head;
		char bytes[64];
	} is;
	size_t n = sizeof(is.head) + size;

	return b->fd >= 0 && size <= sizeof(is.bytes) &&
	       pread(b->fd, &is, n, record_offset(place, record)) == (ssize_t)n &&
	       is.head.magic == MAGIC && is.head.size >= size && !memcmp(is.bytes, bytes, size);
}

static bool read_once(const struct nb_mailbox *b, uint32_t place, enum nb_mailbox_record record,
		      struct nb_buf *out)
{
	off_t at = record_offset(place, record);
	uint8_t digest[NB_SHA256_SIZE];
	struct head h;

	nb_buf_init(out, 0);
	if (b->fd < 0 || pread(b->fd, &h, sizeof(h), at) != sizeof(h) || h.magic != MAGIC ||
	    h.size > records[record].most)
		return false;
	if (read_at(b->fd, out, h.size, at + (off_t)sizeof(h))) {
		record_digest(&h, out->data ? out->data : "", digest);
		if (!memcmp(digest, h.digest, sizeof(digest)))
			return true;
	}
	nb_buf_fini(out);
	return false;
}

bool nb_mailbox_read(const struct nb_mailbox *b, uint32_t place, enum nb_mailbox_record record,
		     struct nb_buf *out)
{
	bool whole = read_once(b, place, record, out);

	/* the owner may be in the middle of a write, which takes less than a read */
	for (int again = 0; !whole && again < 2; again++)
		whole = read_once(b, place, record, out);
	return whole;
}
