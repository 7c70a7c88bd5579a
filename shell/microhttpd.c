// SPDX-License-Identifier: MIT
/*
 * libmicrohttpd is loaded when metrics are first served, because it loads
 * GnuTLS. shell/http.c calls it by its own names; these functions take its
 * place.
 */
#include "shell/shell.h"

#include <microhttpd.h>

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define SONAME "libmicrohttpd.so.12"

#define FUNCTIONS(F)                       \
	F(MHD_add_response_header)         \
	F(MHD_create_response_from_buffer) \
	F(MHD_destroy_response)            \
	F(MHD_get_connection_info)         \
	F(MHD_get_daemon_info)             \
	F(MHD_get_timeout)                 \
	F(MHD_queue_response)              \
	F(MHD_run)                         \
	F(MHD_start_daemon_va)             \
	F(MHD_stop_daemon)

#define MEMBER(name) __typeof__(name) *name;
static struct {
	FUNCTIONS(MEMBER)
} lib;

/* dlsym returns an object pointer; memcpy makes it a function pointer. */
static bool look_up(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

const char *nb_microhttpd_load(void)
{
	static bool loaded;

	if (loaded)
		return NULL;
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return dlerror();
#define LOOK_UP(name)                            \
	if (!look_up(library, #name, &lib.name)) \
		return SONAME " has no " #name;
	FUNCTIONS(LOOK_UP)
	loaded = true;
	return NULL;
}

/* Callers use these functions after nb_microhttpd_load has succeeded. */
struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port,
				    MHD_AcceptPolicyCallback accept,
				    void *accept_arg,
				    MHD_AccessHandlerCallback answer,
				    void *answer_arg, ...)
{
	struct MHD_Daemon *daemon;
	va_list options;

	va_start(options, answer_arg);
	daemon = lib.MHD_start_daemon_va(flags, port, accept, accept_arg,
					 answer, answer_arg, options);
	va_end(options);
	return daemon;
}

void MHD_stop_daemon(struct MHD_Daemon *daemon)
{
	lib.MHD_stop_daemon(daemon);
}

enum MHD_Result MHD_run(struct MHD_Daemon *daemon)
{
	return lib.MHD_run(daemon);
}

enum MHD_Result MHD_get_timeout(struct MHD_Daemon *daemon,
				MHD_UNSIGNED_LONG_LONG *timeout)
{
	return lib.MHD_get_timeout(daemon, timeout);
}

const union MHD_DaemonInfo *MHD_get_daemon_info(struct MHD_Daemon *daemon,
						enum MHD_DaemonInfoType type,
						...)
{
	return lib.MHD_get_daemon_info(daemon, type);
}

const union MHD_ConnectionInfo *
MHD_get_connection_info(struct MHD_Connection *connection,
			enum MHD_ConnectionInfoType type, ...)
{
	return lib.MHD_get_connection_info(connection, type);
}

struct MHD_Response *
MHD_create_response_from_buffer(size_t size, void *buffer,
				enum MHD_ResponseMemoryMode mode)
{
	return lib.MHD_create_response_from_buffer(size, buffer, mode);
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *response,
					const char *name, const char *value)
{
	return lib.MHD_add_response_header(response, name, value);
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection,
				   unsigned status,
				   struct MHD_Response *response)
{
	return lib.MHD_queue_response(connection, status, response);
}

void MHD_destroy_response(struct MHD_Response *response)
{
	lib.MHD_destroy_response(response);
}
