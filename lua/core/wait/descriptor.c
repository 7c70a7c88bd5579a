// SPDX-License-Identifier: MIT
// Descriptors that `map attach` sends to a job: for a BPF map, given by its
// number or by the path where it is pinned, or for a sealed memory file. The
// job checks the descriptor; the checks here only find out what a path is.
#include "lua/core/wait/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lua/core/support/support.h"

int nb_lua_descriptor(lua_State *L, int index)
{
	const int *fd = luaL_testudata(L, index, NB_LUA_FD);

	return fd ? *fd : -1;
}

static int bpf_call(enum bpf_cmd what, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, what, attr, sizeof(*attr));
}

static int open_number(uint32_t id)
{
	union bpf_attr attr = { .map_id = id };

	return bpf_call(BPF_MAP_GET_FD_BY_ID, &attr);
}

/* Open a pinned map or a file. */
static int open_path(const char *path)
{
	union bpf_attr attr = { .pathname = (uintptr_t)path };
	struct statfs fs;

	if (statfs(path, &fs))
		return -1;
	if ((uint64_t)fs.f_type == BPF_FS_MAGIC)
		return bpf_call(BPF_OBJ_GET, &attr);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int open_error(lua_State *L, const char *source, int e)
{
	int code = e == ENOENT ? NB_E_NOENT : e == EPERM || e == EACCES ? NB_E_PERM : NB_E_NOINPUT;

	nb_lua_failf(L, code, "%s: %s", source, strerror(e));
	if (code == NB_E_PERM)
		nb_lua_set_str(L, "hint",
			       "to open a BPF map by its number needs CAP_SYS_ADMIN; "
			       "opening it by its path needs CAP_BPF on most hosts; "
			       "the memory file of a process belongs to its user");
	return 2;
}

/* descriptor(source) -> userdata | nil, err
 * @source: "id:N", a path in a BPF file system, or the path of a memory file */
static int open_descriptor(lua_State *L)
{
	const char *source = luaL_checkstring(L, 1);
	int *fd = nb_lua_fd(L);
	bool number = !strncmp(source, "id:", 3);
	unsigned long long id = 0;
	char *end = NULL;

	if (number)
		id = strtoull(source + 3, &end, 10);
	if (number && (*end || end == source + 3 || id > UINT32_MAX))
		return nb_lua_failf(L, NB_E_ARG, "%s must be id: and the number of a map", source);
	*fd = number ? open_number((uint32_t)id) : open_path(source);
	if (*fd < 0)
		return open_error(L, source, errno);
	return 1;
}

const luaL_Reg nb_lua_descriptors[] = { { "descriptor", open_descriptor }, { NULL, NULL } };
