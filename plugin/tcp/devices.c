// SPDX-License-Identifier: MIT
/*
 * The devices: network interfaces, chosen by NCCL's rules, so settings for
 * NCCL's Socket transport also apply here.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/tcp/tcp.h"

enum { DEFAULT_SPEED = 10000 };

static struct nb_tcp_dev devices_found[NB_TCP_MAX_DEVS];
static int nfound;
static pthread_once_t devices_once = PTHREAD_ONCE_INIT;

socklen_t nb_tcp_addr_size(const union nb_tcp_addr *a)
{
	return a->any.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

void nb_tcp_addr_text(const union nb_tcp_addr *a, char *text, size_t size)
{
	char ip[INET6_ADDRSTRLEN] = "?";
	bool v6 = a->any.sa_family == AF_INET6;

	if (v6)
		inet_ntop(AF_INET6, &a->v6.sin6_addr, ip, sizeof(ip));
	else
		inet_ntop(AF_INET, &a->v4.sin_addr, ip, sizeof(ip));
	snprintf(text, size, v6 ? "[%s]:%u" : "%s:%u", ip,
		 ntohs(v6 ? a->v6.sin6_port : a->v4.sin_port));
}

bool nb_tcp_ifname_lets(const char *value, const char *name)
{
	bool except = *value == '^', whole;
	bool any = false;

	value += except;
	whole = *value == '=';
	value += whole;
	while (*value) {
		size_t n = strcspn(value, ",");

		if (n && !strncmp(name, value, n) && (!whole || !name[n]))
			any = true;
		value += n;
		value += *value == ',';
	}
	return any != except;
}

/* Returns the driver's speed in Mbit/s, or the default speed. */
static int speed_of(const char *name)
{
	char path[96];
	int speed = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", name);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%d", &speed) != 1)
			speed = 0;
		fclose(f);
	}
	return speed > 0 ? speed : DEFAULT_SPEED;
}

static void pci_of(struct nb_tcp_dev *d)
{
	char path[96], real[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/class/net/%s/device", d->name);
	if (realpath(path, real) && strlen(real) < sizeof(d->pci))
		memcpy(d->pci, real, strlen(real) + 1);
}

/*
 * Returns the preference of an interface: 0 for a network, 1 for a bridge of
 * containers or virtual machines, 2 for loopback.
 */
static int rank_of(const struct ifaddrs *a)
{
	if (a->ifa_flags & IFF_LOOPBACK)
		return 2;
	return !strncmp(a->ifa_name, "docker", 6) || !strncmp(a->ifa_name, "virbr", 5);
}

static bool device_usable(const struct ifaddrs *a, const char *ifname, int family, int rank)
{
	if (!a->ifa_addr || !(a->ifa_flags & IFF_UP) ||
	    strlen(a->ifa_name) >= sizeof(devices_found[0].name))
		return false;
	if (a->ifa_addr->sa_family != family)
		return false;
	if (family == AF_INET6) {
		const struct sockaddr_in6 *v6 =
			(const struct sockaddr_in6 *)(const void *)a->ifa_addr;

		/* a link-local address is not valid on other hosts */
		if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
			return false;
	}
	return ifname ? nb_tcp_ifname_lets(ifname, a->ifa_name) : rank_of(a) == rank;
}

static bool device_known(const struct nb_tcp_dev *devs, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(devs[i].name, name))
			return true;
	return false;
}

static int add_device(const struct ifaddrs *a, struct nb_tcp_dev *d)
{
	memset(d, 0, sizeof(*d));
	snprintf(d->name, sizeof(d->name), "%s", a->ifa_name);
	if (a->ifa_addr->sa_family == AF_INET)
		memcpy(&d->addr.v4, a->ifa_addr, sizeof(d->addr.v4));
	else
		memcpy(&d->addr.v6, a->ifa_addr, sizeof(d->addr.v6));
	d->speed = speed_of(d->name);
	pci_of(d);
	return 1;
}

int nb_tcp_find_devs(const char *ifname, int family, struct nb_tcp_dev *devs, int most)
{
	struct ifaddrs *all = NULL;
	int n = 0;

	if (ifname && !*ifname)
		ifname = NULL;
	if (getifaddrs(&all))
		return 0;
	for (int rank = 0; rank < 3 && !n; rank++)
		for (int six = 0; six < 2; six++) {
			int f = six ? AF_INET6 : AF_INET;

			if (family != AF_UNSPEC && family != f)
				continue;
			for (struct ifaddrs *a = all; a; a = a->ifa_next)
				if (n < most && device_usable(a, ifname, f, rank) &&
				    !device_known(devs, n, a->ifa_name))
					n += add_device(a, &devs[n]);
		}
	freeifaddrs(all);
	return n;
}

static void find_devices(void)
{
	const char *family = getenv("NCCL_SOCKET_FAMILY");
	int f = !family			      ? AF_UNSPEC
		: !strcmp(family, "AF_INET")  ? AF_INET
		: !strcmp(family, "AF_INET6") ? AF_INET6
					      : AF_UNSPEC;

	nfound = nb_tcp_find_devs(getenv("NCCL_SOCKET_IFNAME"), f, devices_found, NB_TCP_MAX_DEVS);
	for (int i = 0; i < nfound; i++) {
		char text[80];

		nb_tcp_addr_text(&devices_found[i].addr, text, sizeof(text));
		*strrchr(text, ':') = '\0';
		nb_tcp_say(false, "net: device %d is %s, %s, %d Mbit/s", i, devices_found[i].name,
			   text, devices_found[i].speed);
	}
}

int nb_net_devices(int *n)
{
	if (!n)
		return NB_NET_ARGUMENT;
	pthread_once(&devices_once, find_devices);
	*n = nfound;
	return NB_NET_OK;
}

const struct nb_tcp_dev *nb_tcp_dev(int dev)
{
	pthread_once(&devices_once, find_devices);
	return dev >= 0 && dev < nfound ? &devices_found[dev] : NULL;
}

int nb_net_get_properties(int dev, struct nb_net_props *p)
{
	pthread_once(&devices_once, find_devices);
	memset(p, 0, sizeof(*p));
	if (dev < 0 || dev >= nfound)
		return NB_NET_ARGUMENT;
	p->name = devices_found[dev].name;
	p->pci_path = devices_found[dev].pci[0] ? devices_found[dev].pci : NULL;
	p->guid = (uint64_t)dev;
	p->ptr_support = NB_NET_HOST_MEMORY;
	p->speed = devices_found[dev].speed;
	p->max_comms = 65536;
	p->max_recvs = 1;
	p->v.ndevs = 1;
	p->v.devs[0] = dev;
	p->max_p2p_bytes = p->max_coll_bytes = (size_t)1 << 30;
	p->max_multi_request = 1;
	p->rail_id = p->plane_id = -1;
	return NB_NET_OK;
}
