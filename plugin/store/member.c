// SPDX-License-Identifier: MIT
/*
 * Configuration of the store: URLs, TLS files and the password file. All are
 * checked when the store is opened, so a mistake is not reported as a store
 * that does not answer.
 */
#include "plugin/store/member.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/ascii.h"

enum { TIMEOUT_MS = 5000, PASSWORD_SIZE = 1024 };

static int store_no_memory(struct nb_err *err)
{
	return nb_fail(err, NB_E_NOMEM, 0, "store: no memory");
}

static int add_endpoint(struct nb_store *s, const char *url, size_t n, struct nb_err *err)
{
	while (n && url[n - 1] == '/')
		n--;
	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return nb_fail(err, NB_E_SETTING, 0,
			       "store: endpoint \"%.*s\" is not a URL "
			       "that starts with http:// or https://",
			       (int)n, url);
	if (memchr(url, ' ', n) || n > 255)
		return nb_fail(err, NB_E_SETTING, 0,
			       "store: endpoint \"%.*s\" has a space or more than 255 characters",
			       (int)(n > 100 ? 100 : n), url);
	if (s->nendpoints == NB_STORE_ENDPOINTS)
		return nb_fail(err, NB_E_SETTING, 0, "store: more than %d endpoints",
			       NB_STORE_ENDPOINTS);
	s->endpoint[s->nendpoints] = strndup(url, n);
	if (!s->endpoint[s->nendpoints])
		return store_no_memory(err);
	s->nendpoints++;
	return 0;
}

static int read_endpoints(struct nb_store *s, const char *list, struct nb_err *err)
{
	for (const char *p = list ? list : ""; *p;) {
		size_t n = strcspn(p, ",");
		int rc;

		while (n && *p == ' ')
			p++, n--;
		rc = n ? add_endpoint(s, p, n, err) : 0;
		if (rc)
			return rc;
		p += n + (p[n] == ',');
	}
	if (!s->nendpoints)
		return nb_fail(err, NB_E_SETTING, 0,
			       "store: no endpoint is given, "
			       "1 to %d URLs are needed (https://host:2379,…)",
			       NB_STORE_ENDPOINTS);
	return 0;
}

static int copy_file(char **to, const char *what, const char *path, struct nb_err *err)
{
	if (!path || !path[0])
		return 0;
	if (access(path, R_OK))
		return nb_fail(err, NB_E_SETTING, 0, "store: %s %s: %s", what, path,
			       strerror(errno));
	*to = strdup(path);
	return *to ? 0 : store_no_memory(err);
}

static int read_tls(struct nb_store *s, const struct nb_http_tls *tls, struct nb_err *err)
{
	bool cert = tls->cert && tls->cert[0], key = tls->key && tls->key[0];
	int rc;

	if (cert != key)
		return nb_fail(err, NB_E_SETTING, 0, "store: a %s is given without its %s",
			       cert ? "certificate" : "key", cert ? "key" : "certificate");
	rc = copy_file(&s->cacert, "CA certificate", tls->cacert, err);
	if (!rc)
		rc = copy_file(&s->cert, "certificate", tls->cert, err);
	if (!rc)
		rc = copy_file(&s->key, "key", tls->key, err);
	s->tls = (struct nb_http_tls){ s->cacert, s->cert, s->key };
	return rc;
}

static int read_password(struct nb_store *s, const char *path, struct nb_err *err)
{
	char text[PASSWORD_SIZE] = "";
	struct stat st;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool bad = fd < 0 || fstat(fd, &st);

	if (!bad && !(st.st_mode & 077))
		n = read(fd, text, sizeof(text) - 1);
	bad = bad || n < 0;
	int e = errno;

	if (fd >= 0)
		close(fd);
	if (bad)
		return nb_fail(err, NB_E_SETTING, 0, "store: password file %s: %s", path,
			       strerror(e));
	if (st.st_mode & 077)
		return nb_fail(err, NB_E_SETTING, 0,
			       "store: password file %s has mode %03o: "
			       "others may use it, 600 or 400 is allowed",
			       path, (unsigned)st.st_mode & 0777);
	text[strcspn(text, "\r\n")] = '\0';
	s->password = strdup(text);
	explicit_bzero(text, sizeof(text));
	return s->password ? 0 : store_no_memory(err);
}

static int read_user(struct nb_store *s, const struct nb_store_config *c, struct nb_err *err)
{
	if (!c->user || !c->user[0])
		return 0;
	s->user = strdup(c->user);
	if (!s->user)
		return store_no_memory(err);
	if (!c->password_file || !c->password_file[0])
		return nb_fail(err, NB_E_SETTING, 0, "store: user %s has no password file",
			       c->user);
	return read_password(s, c->password_file, err);
}

/* Returns true if @url names a loopback address. */
static bool is_loopback(const char *url)
{
	static const char *const hosts[] = { "127.0.0.1", "[::1]", "localhost" };
	const char *host = url + strlen("http://");

	for (unsigned i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		size_t n = strlen(hosts[i]);

		if (nb_same_words(host, hosts[i], n) &&
		    (!host[n] || host[n] == ':' || host[n] == '/'))
			return !strchr(host, '@');
	}
	return false;
}

/* Refuse a password without TLS, except to a loopback address. */
static int check_encrypted(const struct nb_store *s, struct nb_err *err)
{
	for (unsigned i = 0; s->user && i < s->nendpoints; i++)
		if (!strncmp(s->endpoint[i], "http://", 7) && !is_loopback(s->endpoint[i]))
			return nb_fail(
				err, NB_E_SETTING, 0,
				"store: endpoint %.100s would get the password "
				"of user %.60s unencrypted: use https://, or a loopback address",
				s->endpoint[i], s->user);
	return 0;
}

int nb_store_open(struct nb_store **out, struct nb_http *http, const struct nb_store_config *config,
		  struct nb_err *err)
{
	struct nb_store *s = calloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	if (!s)
		return store_no_memory(err);
	s->http = http;
	s->timeout_ms = config->timeout_ms ? config->timeout_ms : TIMEOUT_MS;
	s->keep_ms = s->timeout_ms;
	rc = read_endpoints(s, config->endpoints, err);
	if (!rc)
		rc = read_tls(s, &config->tls, err);
	if (!rc)
		rc = read_user(s, config, err);
	if (!rc)
		rc = check_encrypted(s, err);
	if (rc) {
		nb_store_close(s);
		return rc;
	}
	if (s->nendpoints)
		s->current = config->first % s->nendpoints;
	*out = s;
	return 0;
}

void nb_store_set_timeout(struct nb_store *s, unsigned ms)
{
	s->timeout_ms = ms;
}

void nb_store_close(struct nb_store *s)
{
	if (!s)
		return;
	nb_store_requests_free(s);
	nb_store_watches_free(s);
	for (unsigned i = 0; i < s->nendpoints; i++)
		free(s->endpoint[i]);
	if (s->password)
		explicit_bzero(s->password, strlen(s->password));
	free(s->cacert);
	free(s->cert);
	free(s->key);
	free(s->user);
	free(s->password);
	free(s);
}

void nb_store_member_failed(struct nb_store *s, unsigned i, const struct nb_err *err)
{
	if (s->current == i)
		s->current = (i + 1) % s->nendpoints;
	nb_store_watches_moved(s, i, err);
}
