// SPDX-License-Identifier: MIT
/*
 * Loads the initial policies of NCCLBPF_POLICY. The core reads a policy image
 * itself. A BPF object is read by the front end, a separate library beside the
 * plugin, so the plugin does not depend on libelf and libbpf. Either all
 * entries are loaded or none.
 */
#include "plugin/policies/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/sha256.h"
#include "core/bpf/image/param.h"
#include "core/load/object.h"
#include "plugin/policies/held.h"
#include "plugin/runtime/digest.h"
#include "plugin/runtime/lock.h"

enum { MAX_OBJECT = 16 << 20 };

struct nb_load nb_load;

#define PIN "@sha256:"
#define FRONT_END "libncclbpf-load.so"

struct entry {
	char path[PATH_MAX];
	/* values of parameters, behind the path in @path; NULL: none */
	const char *params;
	/* name of the policy, derived from the file name */
	char name[NB_IMAGE_NAME];
	bool pinned;
	uint8_t digest[NB_SHA256_SIZE];
};

struct bytes {
	void *p;
	size_t size;
};

/*
 * An entry is PATH, PATH?NAME=VALUE,NAME=VALUE or either of them with a pin behind it.
 * Returns the length of the first entry of @list. Colons separate entries,
 * except the colon of a digest pin.
 */
static size_t entry_length(const char *list)
{
	size_t pin = strlen(PIN), i = 0;

	for (;;) {
		i += strcspn(list + i, ":");
		if (!list[i])
			return i;
		if (i + 1 < pin || strncmp(list + i + 1 - pin, PIN, pin))
			return i;
		i++;
	}
}

/*
 * Derive the policy's name from the file name: drop the suffix, and replace all
 * characters except letters, digits, _ - . by _.
 */
static void name_from_path(const char *path, char name[NB_IMAGE_NAME])
{
	static const char *const suffixes[] = { ".bpf.o", ".policy", ".o" };
	const char *base = strrchr(path, '/');
	size_t n;

	base = base ? base + 1 : path;
	n = strlen(base);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t s = strlen(suffixes[i]);

		if (n > s && !strcmp(base + n - s, suffixes[i])) {
			n -= s;
			break;
		}
	}
	if (n > NB_IMAGE_NAME - 1)
		n = NB_IMAGE_NAME - 1;
	for (size_t i = 0; i < n; i++) {
		char c = base[i];
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';

		name[i] = c;
		if (!fine)
			name[i] = '_';
	}
	name[n] = '\0';
}

static int parse_entry(struct entry *e, const char *text, size_t size, struct nb_err *err)
{
	char *pin, *params;

	memset(e, 0, sizeof(*e));
	if (!size)
		return nb_fail(err, NB_E_SETTING, 0,
			       "an entry is empty (allowed: paths separated by colons)");
	if (size >= sizeof(e->path))
		return nb_fail(err, NB_E_SETTING, 0,
			       "policy path too long: %zu bytes (allowed: %zu)", size,
			       sizeof(e->path) - 1);
	memcpy(e->path, text, size);
	pin = strstr(e->path, PIN);
	if (pin) {
		if (nb_digest_parse(e->digest, pin + strlen(PIN), NULL))
			return nb_fail(
				err, NB_E_SETTING, 0,
				"%.200s must have 64 hexadecimal digits after @sha256:", e->path);
		e->pinned = true;
		*pin = '\0';
	}
	params = strchr(e->path, '?');
	if (params) {
		*params = '\0';
		e->params = params + 1;
	}
	name_from_path(e->path, e->name);
	return 0;
}

static int read_all(int fd, const char *path, size_t size, struct bytes *out, struct nb_err *err)
{
	char *p = malloc(size + 1);
	size_t have = 0;

	if (!p)
		return nb_fail(err, NB_E_NOMEM, 0, "%s: no memory (%zu bytes)", path, size);
	while (have < size) {
		ssize_t n = read(fd, p + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int error = errno;

			free(p);
			return nb_fail(err, NB_E_NOINPUT, 0,
				       "%s: reading ends after %zu of %zu bytes: %s", path, have,
				       size, n ? strerror(error) : "end of file");
		}
		have += (size_t)n;
	}
	*out = (struct bytes){ p, size };
	return 0;
}

static int read_file(const char *path, struct bytes *out, struct nb_err *err)
{
	/* O_NONBLOCK, because opening a FIFO must not block the job */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int rc;

	if (fd < 0) {
		int error = errno;

		return nb_fail(err, NB_E_NOINPUT, 0, "%s: cannot be opened: %s", path,
			       strerror(error));
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		rc = nb_fail(err, NB_E_NOINPUT, 0, "%s: not a regular file", path);
	else if (st.st_size < 1 || st.st_size > MAX_OBJECT)
		rc = nb_fail(err, NB_E_LIMIT, 0, "%s: %lld bytes (allowed: 1 to %d)", path,
			     (long long)st.st_size, MAX_OBJECT);
	else
		rc = read_all(fd, path, (size_t)st.st_size, out, err);
	close(fd);
	return rc;
}

/* Find the front end's library in the directory of this library. */
static bool front_end_path(char out[PATH_MAX])
{
	/*
	 * dladdr needs the address of an object, since a function pointer
	 * cannot be converted to void *
	 */
	static const char here;
	Dl_info info;
	char *real, *slash;
	bool fits;

	if (!dladdr(&here, &info) || !info.dli_fname)
		return false;
	real = realpath(info.dli_fname, NULL);
	slash = real ? strrchr(real, '/') : NULL;
	if (slash)
		*slash = '\0';
	fits = slash && snprintf(out, PATH_MAX, "%s/" FRONT_END, real) < PATH_MAX;
	free(real);
	return fits;
}

static int call_front_end(void *so, const char *path, const struct entry *e, const struct bytes *in,
			  struct bytes *out, struct nb_err *err)
{
	nb_load_entry_fn *fn;

	/*
	 * POSIX recommends this form for dlsym, because ISO C does not define
	 * the conversion
	 */
	*(void **)&fn = dlsym(so, NB_LOAD_ENTRY);
	if (!fn)
		return nb_fail(err, NB_E_NOTSUP, 0,
			       "%s has no function %s: it is of another version", path,
			       NB_LOAD_ENTRY);
	return fn(in->p, in->size, e->name, &out->p, &out->size, err);
}

static int object_image(const struct entry *e, const struct bytes *in, struct bytes *out,
			struct nb_err *err)
{
	char path[PATH_MAX];
	void *so;
	int rc;

	if (!front_end_path(path))
		return nb_fail(
			err, NB_E_NOTSUP, 0,
			"%s is a BPF object, "
			"and the plugin's own directory is not known, so it cannot find " FRONT_END,
			e->path);
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		const char *why = dlerror();

		rc = nb_fail(err, NB_E_NOTSUP, 0,
			     "%s is a BPF object, "
			     "and the front end that reads BPF objects cannot be loaded: %.160s",
			     e->path, why ? why : path);
		nb_hint(err,
			"build an image where libncclbpf-load.so is installed: "
			"ncclbpf-shell policy build %.60s -o %.40s.policy",
			e->path, e->name);
		return rc;
	}
	rc = call_front_end(so, path, e, in, out, err);
	dlclose(so);
	return rc;
}

static int check_pin(const struct entry *e, const struct bytes *file, struct nb_err *err)
{
	uint8_t have[NB_SHA256_SIZE];
	char want_text[65], have_text[65];

	if (!e->pinned)
		return 0;
	nb_sha256(file->p, file->size, have);
	if (!memcmp(have, e->digest, sizeof(have)))
		return 0;
	nb_sha256_text(e->digest, want_text);
	nb_sha256_text(have, have_text);
	return nb_fail(err, NB_E_SETTING, 0, "%.120s: its SHA-256 is %s, NCCLBPF_POLICY allows %s",
		       e->path, have_text, want_text);
}

static int entry_image(const struct entry *e, struct bytes *image, struct nb_err *err)
{
	struct bytes file = { NULL, 0 };
	int rc = read_file(e->path, &file, err);

	if (rc)
		return rc;
	rc = check_pin(e, &file, err);
	if (!rc && nb_image_is(file.p, file.size)) {
		*image = file;
		return 0;
	}
	if (!rc && (file.size < 4 || memcmp(file.p, "\177ELF", 4)))
		rc = nb_fail(err, NB_E_IMAGE, 0,
			     "%s: neither a policy image nor a BPF object file; "
			     "policy build makes an image of C and of tables",
			     e->path);
	if (!rc)
		rc = object_image(e, &file, image, err);
	free(file.p);
	return rc;
}

/* Replace an image by the same image with the entry's values of parameters. */
static int set_params(const struct entry *e, struct bytes *image, struct nb_err *err)
{
	struct nb_image *img;
	struct nb_buf out;
	int rc;

	if (!e->params)
		return 0;
	rc = nb_image_read(&img, image->p, image->size, err);
	if (rc)
		return rc;
	nb_buf_init(&out, NB_IMAGE_MAX_SIZE);
	rc = nb_image_set(&out, img, e->params, err);
	nb_image_free(img);
	if (!rc) {
		free(image->p);
		image->p = nb_buf_take(&out, &image->size);
	}
	nb_buf_fini(&out);
	return rc;
}

/* Load one entry and hold its policy. The caller holds the lock. */
static int load_entry(const struct entry *e, struct nb_policy **out, struct nb_err *err)
{
	struct bytes image = { NULL, 0 };
	struct nb_held *held;
	int rc;

	nb_unlock(NB_LOCK_STATE);
	rc = entry_image(e, &image, err);
	if (!rc)
		rc = set_params(e, &image, err);
	nb_lock(NB_LOCK_STATE);
	if (!rc)
		rc = nb_held_add(image.p, image.size, NULL, NB_SOURCE_ENV, NULL, NULL, &held, err);
	free(image.p);
	if (!rc)
		*out = nb_policy_get(held->policy);
	return rc;
}

static int load_list(const char *list, struct nb_policy **policies, uint32_t *n, struct nb_err *err)
{
	struct entry *e = malloc(sizeof(*e));
	int rc = 0;

	if (!e)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for a path");
	for (;;) {
		size_t size = entry_length(list);

		snprintf(nb_load.what, sizeof(nb_load.what), "%.*s", (int)(size < 255 ? size : 255),
			 list);
		if (*n == NB_GEN_MAX_POLICIES)
			rc = nb_fail(err, NB_E_LIMIT, 0, "more than %d policies",
				     NB_GEN_MAX_POLICIES);
		else
			rc = parse_entry(e, list, size, err);
		if (!rc)
			rc = load_entry(e, &policies[*n], err);
		if (rc || (++*n, !list[size]))
			break;
		list += size + 1;
	}
	free(e);
	return rc;
}

int nb_load_policies(const char *list, struct nb_gen **out, struct nb_err *err)
{
	struct nb_policy *policies[NB_GEN_MAX_POLICIES];
	uint32_t n = 0;
	int rc;

	*out = NULL;
	rc = load_list(list, policies, &n, err);
	if (!rc)
		rc = nb_gen_new(out, policies, n, NULL, err);
	for (uint32_t i = 0; i < n; i++)
		nb_policy_put(policies[i]);
	if (rc)
		nb_load.err = *err;
	else
		nb_load.what[0] = '\0';
	return rc;
}
