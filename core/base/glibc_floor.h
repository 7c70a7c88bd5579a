// SPDX-License-Identifier: MIT
/*
 * Keep what we link loadable with glibc 2.28 (docs/compatibility.md). The
 * Makefile includes this file in front of every source of a library.
 *
 * glibc 2.34 moved these functions from libdl and libpthread into libc and
 * gave them a new version. We ask for the old version, which older and newer
 * systems have. The Makefile names libdl and libpthread for systems where they
 * are still separate. A test (test/packaging/glibc.t) fails if a library needs
 * a newer symbol.
 */
#ifndef NB_BASE_GLIBC_FLOOR_H
#define NB_BASE_GLIBC_FLOOR_H

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define NB_FLOOR(name, version) __asm__(".symver " #name "," #name "@GLIBC_" version);
#elif defined(__GLIBC__) && defined(__aarch64__)
#define NB_FLOOR(name, version) __asm__(".symver " #name "," #name "@GLIBC_2.17");
#else
#define NB_FLOOR(name, version)
#endif

NB_FLOOR(dladdr, "2.2.5")
NB_FLOOR(dladdr1, "2.3.3")
NB_FLOOR(dlclose, "2.2.5")
NB_FLOOR(dlerror, "2.2.5")
NB_FLOOR(dlinfo, "2.3.3")
NB_FLOOR(dlopen, "2.2.5")
NB_FLOOR(dlsym, "2.2.5")
NB_FLOOR(dlvsym, "2.2.5")
NB_FLOOR(pthread_attr_setstacksize, "2.2.5")
NB_FLOOR(pthread_create, "2.2.5")
NB_FLOOR(pthread_join, "2.2.5")
NB_FLOOR(pthread_mutex_trylock, "2.2.5")
NB_FLOOR(pthread_once, "2.2.5")
NB_FLOOR(pthread_setname_np, "2.12")
NB_FLOOR(pthread_sigmask, "2.2.5")
NB_FLOOR(pthread_tryjoin_np, "2.3.3")

#endif
