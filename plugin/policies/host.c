// SPDX-License-Identifier: MIT
/*
 * Records the descriptor to which each host map of this process is attached.
 * A descriptor stays open, so that host maps of policies loaded later are
 * attached to it as well.
 */
#include "plugin/policies/host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/bpf/map/host.h"
#include "plugin/policies/held_list.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"

struct attachment {
	/* name of the host maps; "" if the entry is unused */
	char name[NB_MAP_NAME];
	int fd; /* -1: detached */
};

static struct attachment attachments[NB_MAX_HOST_MAPS];

static struct attachment *entry_of(const char *name)
{
	for (int i = 0; i < NB_MAX_HOST_MAPS; i++)
		if (!strcmp(attachments[i].name, name))
			return &attachments[i];
	return NULL;
}

/* Returns the attached entry of @name, or NULL. */
static struct attachment *attachment_of(const char *name)
{
	struct attachment *a = entry_of(name);

	return a && a->fd >= 0 ? a : NULL;
}

/* Returns the host map @name of policy @p, or NULL. */
static struct nb_map *host_map_of(const struct nb_policy *p, const char *name)
{
	int m = nb_image_map(p->img, name);

	return m >= 0 && p->img->maps[m].tags & NB_MAPF_HOST ? p->maps[m] : NULL;
}

static int count_host_maps(const char *name)
{
	int n = 0;

	for (uint32_t i = 0; i < nb_held.n; i++)
		n += host_map_of(nb_held.at[i].policy, name) != NULL;
	return n;
}

static int refuse_name(const char *name, struct nb_err *err)
{
	nb_fail(err, NB_E_NOENT, 0, "no held policy has a host map %.64s", name);
	if (strchr(name, '/'))
		nb_hint(err, "give the map's name alone: "
			     "all policies with a host map of that name show the same memory");
	else
		nb_hint(err, "a host map is tagged __host in its policy; map list shows all maps");
	return NB_E_NOENT;
}

/*
 * Returns an entry for @name: the entry of that name, an unused one, a detached
 * one, or one whose name no held policy has any more.
 */
static struct attachment *place_for(const char *name)
{
	struct attachment *a = entry_of(name);

	if (!a)
		a = entry_of("");
	for (int i = 0; !a && i < NB_MAX_HOST_MAPS; i++)
		if (attachments[i].fd < 0)
			a = &attachments[i];
	for (int i = 0; !a && i < NB_MAX_HOST_MAPS; i++)
		if (!count_host_maps(attachments[i].name))
			a = &attachments[i];
	return a;
}

/* Show the pages of @fd in the map. If @fd is -1, show zeroes. */
static int show(struct nb_map *m, int fd, struct nb_err *err)
{
	return fd < 0 ? nb_map_host_detach(m, err) : nb_map_host_attach(m, fd, err);
}

/* Let the maps called @name of the first @n policies show @fd again. */
static void show_again(const char *name, int fd, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct nb_map *m = host_map_of(nb_held.at[i].policy, name);

		if (m && show(m, fd, NULL) && fd >= 0)
			show(m, -1, NULL);
	}
}

/*
 * Show @fd in all maps called @name. Versions of a policy that are held for
 * undo may have maps of another shape, which then show zeroes; the map that was
 * loaded last must fit. Returns how many maps show @fd. On failure, all show
 * @before again.
 */
static int show_all(const char *name, int fd, int before, struct nb_err *err)
{
	struct nb_err why = { 0 }, unfit = { 0 };
	int shown = 0, rc = 0;
	uint32_t i;

	for (i = 0; i < nb_held.n && (!rc || rc == NB_E_ARG); i++) {
		struct nb_map *m = host_map_of(nb_held.at[i].policy, name);

		if (!m)
			continue;
		rc = show(m, fd, &why);
		shown += !rc;
		if (rc == NB_E_ARG) {
			unfit = why;
			show(m, -1, NULL);
		}
	}
	if (!rc && unfit.code)
		nb_log_err("an older policy's host map stays zero", &unfit);
	if (!rc)
		return shown;
	show_again(name, before, i);
	if (err)
		*err = why;
	return rc;
}

static int refuse_detach(const char *name, struct nb_err *err)
{
	return nb_fail(err, NB_E_NOENT, 0, "no host map %.64s is attached", name);
}

static int refuse_limit(struct nb_err *err)
{
	return nb_fail(err, NB_E_LIMIT, 0,
		       "%d host maps are attached (allowed: %d): map detach one", NB_MAX_HOST_MAPS,
		       NB_MAX_HOST_MAPS);
}

int nb_host_show(const char *name, int fd, struct nb_err *err)
{
	struct attachment *a;
	int before, shown;

	if (fd < 0 && !(*name && attachment_of(name)))
		return refuse_detach(name, err);
	if (fd >= 0 && !count_host_maps(name))
		return refuse_name(name, err);
	a = place_for(name);
	if (!a)
		return refuse_limit(err);
	before = attachment_of(name) ? a->fd : -1;
	shown = show_all(name, fd, before, err);
	if (shown < 0)
		return shown;
	/* the descriptor of this name, or of a name that no policy has any more */
	if (a->name[0] && a->fd >= 0)
		close(a->fd);
	snprintf(a->name, sizeof(a->name), "%s", name);
	a->fd = fd;
	return shown;
}

void nb_host_join(const struct nb_policy *p)
{
	for (uint32_t i = 0; i < p->img->nmaps; i++) {
		const struct nb_map_spec *s = &p->img->maps[i];
		const struct attachment *a = attachment_of(s->name);
		struct nb_err err = { 0 };

		if (s->tags & NB_MAPF_HOST && a && nb_map_host_attach(p->maps[i], a->fd, &err))
			nb_log_err("a new policy's host map stays zero", &err);
	}
}

void nb_host_free(void)
{
	for (int i = 0; i < NB_MAX_HOST_MAPS; i++) {
		if (attachments[i].name[0] && attachments[i].fd >= 0)
			close(attachments[i].fd);
		attachments[i].name[0] = '\0';
	}
}
