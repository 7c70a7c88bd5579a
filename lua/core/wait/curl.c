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

#define FUNCTIONS(F)                \
	F(curl_easy_cleanup)        \
	F(curl_easy_getinfo)        \
	F(curl_easy_init)           \
	F(curl_easy_setopt)         \
	F(curl_easy_strerror)       \
	F(curl_global_init)         \
	F(curl_multi_add_handle)    \
	F(curl_multi_assign)        \
	F(curl_multi_cleanup)       \
	F(curl_multi_info_read)     \
	F(curl_multi_init)          \
	F(curl_multi_remove_handle) \
	F(curl_multi_setopt)        \
	F(curl_multi_socket_action) \
	F(curl_slist_append)        \
	F(curl_slist_free_all)

#define MEMBER(name) __typeof__(name) *name;
static struct {
	FUNCTIONS(MEMBER)
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
#define LOOK_UP(name) look_up(library, #name, &lib.name);
	FUNCTIONS(LOOK_UP)
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

CURL *curl_easy_init(void)
{
	return lib.curl_easy_init();
}

void curl_easy_cleanup(CURL *easy)
{
	lib.curl_easy_cleanup(easy);
}

/* An option's value is a pointer or a long: registers of the same size on the
 * machines that ncclbpf runs on. */
_Static_assert(sizeof(long) == sizeof(void *), "values are passed as void *");

CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
	va_list list;

	va_start(list, option);
	void *value = va_arg(list, void *);
	va_end(list);
	return lib.curl_easy_setopt(easy, option, value);
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
	va_list list;

	va_start(list, info);
	void *value = va_arg(list, void *);
	va_end(list);
	return lib.curl_easy_getinfo(easy, info, value);
}

CURLM *curl_multi_init(void)
{
	return lib.curl_multi_init();
}

CURLMcode curl_multi_cleanup(CURLM *multi)
{
	return lib.curl_multi_cleanup(multi);
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy)
{
	return lib.curl_multi_add_handle(multi, easy);
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy)
{
	return lib.curl_multi_remove_handle(multi, easy);
}

CURLMcode curl_multi_assign(CURLM *multi, curl_socket_t fd, void *data)
{
	return lib.curl_multi_assign(multi, fd, data);
}

CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...)
{
	va_list list;

	va_start(list, option);
	void *value = va_arg(list, void *);
	va_end(list);
	return lib.curl_multi_setopt(multi, option, value);
}

CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t fd, int mask, int *running)
{
	return lib.curl_multi_socket_action(multi, fd, mask, running);
}

CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
	return lib.curl_multi_info_read(multi, left);
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
	return lib.curl_slist_append(list, text);
}

void curl_slist_free_all(struct curl_slist *list)
{
	lib.curl_slist_free_all(list);
}
