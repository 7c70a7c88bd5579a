// SPDX-License-Identifier: MIT
/*
 * Facts about this host, which policies see if all ranks of a communicator
 * have the same (core/defs/platform.h). The sources are files of sysfs, since
 * a call of a GPU's driver could fail or wait in a process that is not ready
 * for it.
 */
#include "plugin/job/platform.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/defs/ctx.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

enum {
	PATH = 320, /* an entry of a directory, and the name of a file below it */
	TEXT = 4096,
	PCI_NVIDIA = 0x10de,
	PCI_DISPLAY = 3, /* base class of display controllers, which GPUs are */
	PORT_ACTIVE = 4
};

/* Architectures by PCI device ID, from NVIDIA's lists of supported GPUs. A chip has 128 IDs. */
static const struct {
	uint16_t from, to;
	uint8_t arch;
} chips[] = {
	{ 0x1580, 0x15ff, 60 },	 { 0x1d80, 0x1dff, 70 },  { 0x1e00, 0x1fff, 75 },
	{ 0x2080, 0x20ff, 80 },	 { 0x2180, 0x21ff, 75 },  { 0x2200, 0x227f, 86 },
	{ 0x2300, 0x237f, 90 },	 { 0x2400, 0x25ff, 86 },  { 0x2680, 0x28ff, 89 },
	{ 0x2900, 0x297f, 100 }, { 0x2b80, 0x2dff, 120 }, { 0x2e00, 0x2e7f, 121 },
	{ 0x2f00, 0x2f7f, 120 }, { 0x3180, 0x31ff, 103 },
};

static uint32_t nvidia_arch(unsigned long id)
{
	for (size_t i = 0; i < sizeof(chips) / sizeof(*chips); i++)
		if (id >= chips[i].from && id <= chips[i].to)
			return chips[i].arch;
	return 0;
}

/* Read file @dir/@entry/@name. *@text is "" if that fails. */
static void sysfs_text(int dir, const char *entry, const char *name, char *text, size_t size)
{
	char path[PATH];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", entry, name);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
}

/* Returns the number at the beginning of a file, or 0. */
static unsigned long sysfs_number(int dir, const char *entry, const char *name)
{
	char text[32];

	sysfs_text(dir, entry, name, text, sizeof(text));
	return strtoul(text, NULL, 0);
}

typedef void platform_entry(int dir, const char *entry, uint32_t *fact);

/* Call @see for each entry of a directory. */
static void each_entry(int root, const char *path, platform_entry *see, uint32_t *fact)
{
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			see(fd, e->d_name, fact);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

static void add_gpu(uint32_t *fact, unsigned long arch)
{
	if (!fact[NB_FACT_gpus_per_node]++)
		fact[NB_FACT_gpu_arch] = (uint32_t)arch;
	else if (fact[NB_FACT_gpu_arch] != arch)
		fact[NB_FACT_gpu_arch] = NCCLBPF_MIXED;
}

static void see_pci(int dir, const char *entry, uint32_t *fact)
{
	if (sysfs_number(dir, entry, "vendor") == PCI_NVIDIA &&
	    sysfs_number(dir, entry, "class") >> 16 == PCI_DISPLAY)
		add_gpu(fact, nvidia_arch(sysfs_number(dir, entry, "device")));
}

/* KFD's nodes are GPUs and CPUs; for a CPU the version is 0. gfx942 has 90402, gfx90a 90010. */
static void see_kfd(int dir, const char *entry, uint32_t *fact)
{
	static const char name[] = "gfx_target_version ";
	char text[TEXT];
	const char *at;
	unsigned long v;

	sysfs_text(dir, entry, "properties", text, sizeof(text));
	at = strstr(text, name);
	v = at ? strtoul(at + strlen(name), NULL, 10) : 0;
	if (v)
		add_gpu(fact, v / 10000 % 1000 * 100 + v / 100 % 100 * 10 + v % 100);
}

/* A rate is a text like "400 Gb/sec (4X NDR)" or "2.5 Gb/sec (1X SDR)". */
static void see_port(int dir, const char *entry, uint32_t *fact)
{
	char text[64], *end;
	unsigned long rate;

	if (sysfs_number(dir, entry, "state") != PORT_ACTIVE)
		return;
	sysfs_text(dir, entry, "rate", text, sizeof(text));
	rate = strtoul(text, &end, 10) % 1000000 * 1000;
	if (*end == '.')
		rate += strtoul(end + 1, NULL, 10) % 10 * 100;
	if (rate > fact[NB_FACT_nic_mbps]) {
		fact[NB_FACT_nic_mbps] = (uint32_t)rate;
		fact[NB_FACT_nics] = 0;
	}
	fact[NB_FACT_nics] += rate && rate == fact[NB_FACT_nic_mbps];
}

static void see_adapter(int dir, const char *entry, uint32_t *fact)
{
	char path[PATH];

	snprintf(path, sizeof(path), "%s/ports", entry);
	each_entry(dir, path, see_port, fact);
}

void nb_platform_read(int root, uint32_t fact[NB_NFACTS])
{
	memset(fact, 0, NB_NFACTS * sizeof(*fact));
	each_entry(root, "sys/bus/pci/devices", see_pci, fact);
	each_entry(root, "sys/class/kfd/kfd/topology/nodes", see_kfd, fact);
	each_entry(root, "sys/class/infiniband", see_adapter, fact);
}

/* Read NAME=NUMBER, the @n bytes at @item. Returns false if it has another form. */
static bool set_fact(const char *item, size_t n, uint32_t *fact)
{
	static const char *const names[NB_NFACTS] = {
#define FACT(name) #name,
#include "core/defs/platform.h"
	};
	size_t name = strcspn(item, "=,"), digits;
	uint64_t v = 0;

	for (int i = 0; i < NB_NFACTS; i++) {
		if (strlen(names[i]) != name || strncmp(item, names[i], name) || name == n)
			continue;
		digits = strspn(item + name + 1, "0123456789");
		if (!digits || digits > 10 || name + 1 + digits != n)
			return false;
		v = strtoull(item + name + 1, NULL, 10);
		if (v < NCCLBPF_MIXED)
			fact[i] = (uint32_t)v;
		return v < NCCLBPF_MIXED;
	}
	return false;
}

void nb_platform_set(const char *text, uint32_t fact[NB_NFACTS])
{
	for (size_t n; *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		if (set_fact(text, n, fact))
			continue;
		nb_log(NB_LOG_WARN,
		       "NCCLBPF_PLATFORM: \"%.*s\" is ignored; allowed are "
#define FACT(name) #name "=N, "
#include "core/defs/platform.h"
		       "where N is a whole number from 0 to 4294967294",
		       (int)n, text);
	}
}

void nb_platform_facts(uint32_t fact[NB_NFACTS])
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	nb_platform_read(root, fact);
	if (root >= 0)
		close(root);
	nb_platform_set(nb_params.str[NB_P_PLATFORM], fact);
}
