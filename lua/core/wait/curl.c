// SPDX-License-Identifier: MIT
/*
 * libcurl is loaded at the first request to a store or an agent. Loading it
 * takes longer than loading all other libraries of the shell, and few commands
 * need a store. plugin/store calls libcurl by its own names; in the shell and
 * in the Lua module, these functions replace it. The agent is linked with
 * libcurl.
 *
 * The functions of this file are hidden, so libcurl does not call them.
 */
#include <curl/curl.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Macros that check types and then call the functions. */
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

#define SONAME "libcurl.so.4"

/* Functions that are only passed on: type, name, parameters, arguments. CURL and CURLM are void. */
#define PASSED(F)                                                                             \
	F(CURL *, curl_easy_init, (void), ())                                                 \
	F(CURLM *, curl_multi_init, (void), ())                                               \
	F(CURLMcode, curl_multi_cleanup, (void *m), (m))                                      \
	F(CURLMcode, curl_multi_add_handle, (void *m, void *easy), (m, easy))                 \
	F(CURLMcode, curl_multi_remove_handle, (void *m, void *easy), (m, easy))              \
	F(CURLMcode, curl_multi_assign, (void *m, curl_socket_t fd, void *p), (m, fd, p))     \
	F(CURLMcode, curl_multi_socket_action, (void *m, curl_socket_t fd, int mask, int *n), \
	  (m, fd, mask, n))                                                                   \
	F(CURLMsg *, curl_multi_info_read, (void *m, int *left), (m, left))

/* Functions with a value of any type at their end: type, name, type of the option. */
#define VARIADIC(F)                                 \
	F(CURLcode, curl_easy_setopt, CURLoption, ) \
	F(CURLcode, curl_easy_getinfo, CURLINFO, )  \
	F(CURLMcode, curl_multi_setopt, CURLMoption, )

#define ALL(F)                      \
	PASSED(F)                   \
	VARIADIC(F)                 \
	F(, curl_easy_cleanup, , )  \
	F(, curl_easy_strerror, , ) \
	F(, curl_global_init, , )   \
	F(, curl_slist_append, , )  \
	F(, curl_slist_free_all, , )

#define MEMBER(type, name, a, b) __typeof__(name) *name;
static struct {
	ALL(MEMBER)
} lib;

static char load_error[200];
static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

/* dlsym returns an object pointer; memcpy makes it a function pointer. */
static void look_up(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	if (!found)
		snprintf(load_error, sizeof(load_error), SONAME " has no %s", name);
	memcpy(function, &found, sizeof(found));
}

static void curl_load(void)
{
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		snprintf(load_error, sizeof(load_error), "%s", dlerror());
		return;
	}
#define LOOK_UP(type, name, a, b) look_up(library, #name, &lib.name);
	ALL(LOOK_UP)
}

/*
 * Load libcurl. Callers may use the other functions only after this one has
 * succeeded.
 */
CURLcode curl_global_init(long flags)
{
	pthread_once(&curl_once, curl_load);
	return load_error[0] ? CURLE_FAILED_INIT : lib.curl_global_init(flags);
}

const char *curl_easy_strerror(CURLcode code)
{
	return load_error[0] ? load_error : lib.curl_easy_strerror(code);
}

#define PASS_ON(type, name, parameters, arguments) \
	type name parameters                       \
	{                                          \
		return lib.name arguments;         \
	}
PASSED(PASS_ON)

void curl_easy_cleanup(CURL *easy)
{
	lib.curl_easy_cleanup(easy);
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
	return lib.curl_slist_append(list, text);
}

void curl_slist_free_all(struct curl_slist *list)
{
	lib.curl_slist_free_all(list);
}

/* An option's value is a pointer or a long: registers of the same size on the
 * machines that ncclbpf runs on. */
_Static_assert(sizeof(long) == sizeof(void *), "values are passed as void *");

#define PASS_VALUE(type, name, option, a)           \
	type name(void *o, option which, ...)       \
	{                                           \
		va_list list;                       \
                                                    \
		va_start(list, which);              \
		void *value = va_arg(list, void *); \
		va_end(list);                       \
		return lib.name(o, which, value);   \
	}
VARIADIC(PASS_VALUE)
