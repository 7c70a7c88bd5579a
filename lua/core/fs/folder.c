// SPDX-License-Identifier: MIT
/*
 * Folders, and what a path is.
 */
#include "lua/core/fs/fs.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lua/core/support/support.h"

static int folder_gc(lua_State *L)
{
	DIR **d = lua_touserdata(L, 1);

	if (*d)
		closedir(*d);
	*d = NULL;
	return 0;
}

/* list(path) -> names without . and .. | nil, err */
static int folder_list(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	DIR **d = lua_newuserdatauv(L, sizeof(*d), 0);
	struct dirent *e;
	lua_Integer n = 0;

	*d = NULL;
	nb_lua_collected(L, "ncclbpf.dir", folder_gc);
	*d = opendir(path);
	if (!*d)
		return nb_lua_failf(L, NB_E_NOINPUT, "%s: %s", path, strerror(errno));
	lua_newtable(L);
	while ((e = readdir(*d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		lua_pushstring(L, e->d_name);
		lua_rawseti(L, -2, ++n);
	}
	closedir(*d);
	*d = NULL;
	return 1;
}

static const char *path_kind(mode_t m)
{
	return S_ISREG(m)    ? "file"
	       : S_ISDIR(m)  ? "directory"
	       : S_ISLNK(m)  ? "link"
	       : S_ISSOCK(m) ? "socket"
			     : "other";
}

/* stat(path) -> {kind, mode, uid, size, mtime} | nil, err; no link followed */
static int path_stat(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct stat st;

	if (lstat(path, &st))
		return nb_lua_failf(L, NB_E_NOINPUT, "%s: %s", path, strerror(errno));
	lua_createtable(L, 0, 5);
	nb_lua_set_str(L, "kind", path_kind(st.st_mode));
	nb_lua_set_int(L, "mode", st.st_mode & 07777);
	nb_lua_set_int(L, "uid", st.st_uid);
	nb_lua_set_int(L, "size", st.st_size);
	nb_lua_set_num(L, "mtime", (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9);
	return 1;
}

/*
 * mkdirs(path) -> true if it succeeded. Makes each missing folder with mode
 * 0700.
 */
static int folder_make_all(lua_State *L)
{
	char path[4096];
	size_t n = strlen(luaL_checkstring(L, 1));

	if (n >= sizeof(path))
		return lua_pushboolean(L, 0), 1;
	memcpy(path, lua_tostring(L, 1), n + 1);
	for (size_t i = 1; i <= n; i++)
		if (path[i] == '/' || !path[i]) {
			char c = path[i];

			path[i] = '\0';
			if (mkdir(path, 0700) && errno != EEXIST)
				return lua_pushboolean(L, 0), 1;
			path[i] = c;
		}
	lua_pushboolean(L, 1);
	return 1;
}

const luaL_Reg nb_lua_folder[] = { { "list", folder_list },
				   { "stat", path_stat },
				   { "mkdirs", folder_make_all },
				   { NULL, NULL } };
