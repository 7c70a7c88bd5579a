// SPDX-License-Identifier: MIT
// See kernel.h: the system call, one element at a time.
#include "test/differential/map/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ntests, nfailed;

void ok(bool good, const char *name, const char *why)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++ntests, name);
	if (!good) {
		nfailed++;
		printf("# %s\n", why);
	}
	fflush(stdout);
}

int ok_end(void)
{
	printf("1..%d\n", ntests);
	return nfailed ? 1 : 0;
}

int kernel_bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

int kernel_map(const struct nb_map_def *def)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_type = def->type;
	a.key_size = def->key_size;
	a.value_size = def->value_size;
	a.max_entries = def->max_entries;
	a.map_flags = def->flags;
	return kernel_bpf(BPF_MAP_CREATE, &a);
}

uint32_t kernel_map_id(int fd)
{
	struct bpf_map_info info;
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	memset(&info, 0, sizeof(info));
	a.info.bpf_fd = (uint32_t)fd;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	return kernel_bpf(BPF_OBJ_GET_INFO_BY_FD, &a) ? 0 : info.id;
}

static int element(enum bpf_cmd cmd, void *self, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t) * (int *)self;
	a.key = (uintptr_t)key;
	a.value = (uintptr_t)value; /* next_key shares its place */
	a.flags = flags;
	return kernel_bpf(cmd, &a);
}

static int key_lookup(void *self, const void *key, void *value)
{
	return element(BPF_MAP_LOOKUP_ELEM, self, key, value, 0);
}

static int key_update(void *self, const void *key, const void *value, uint64_t flags)
{
	return element(BPF_MAP_UPDATE_ELEM, self, key, value, flags);
}

static int key_remove(void *self, const void *key)
{
	return element(BPF_MAP_DELETE_ELEM, self, key, NULL, 0);
}

static int key_next(void *self, const void *key, void *next)
{
	return element(BPF_MAP_GET_NEXT_KEY, self, key, next, 0);
}

void side_kernel(struct side *s, int *fd)
{
	*s = (struct side){ "kernel", fd, key_lookup, key_update, key_remove, key_next };
}
