// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_EXTENSION_H
#define NB_PLUGIN_GIN_EXTENSION_H

#include <stdint.h>

/*
 * What a GIN plugin may tell a plugin that wraps it, besides NCCL's interface:
 * a table that its library exports as NB_GIN_EXTENSION. libnccl-net-tcp.so has
 * it. Without the table the hooks and the shell show less (docs/transports.md).
 */
#define NB_GIN_EXTENSION "ncclbpfGinExtension_v1"

/* Messages of a peer that the plugin refuses. */
enum nb_gin_offence {
#define OFFENCE(name, word, text) NB_GIN_BAD_##name,
#include "core/defs/gin_offences.h"
	NB_GIN_NOFFENCES
};

/* Returns the name of an offence in replies and counters. */
static inline const char *nb_gin_offence_word(enum nb_gin_offence what)
{
	static const char *const words[] = {
#define OFFENCE(name, word, text) word,
#include "core/defs/gin_offences.h"
	};

	return words[what];
}

/* A signal from a peer that the transport has applied to our memory. */
struct nb_gin_arrival {
	uint32_t rank, region, op;
	uint64_t offset, value;
	/*
	 * number and bytes of the puts that this peer sent since its last
	 * signal; since_ns: arrival of the first of them
	 */
	uint64_t puts, bytes, since_ns;
};

typedef void nb_gin_arrived(void *arg, const struct nb_gin_arrival *a);

/* State of one peer's connection, as the transport reports it. */
struct nb_gin_link {
	/* constant string: "open", "closed", "stalled" or "lost" */
	const char *state;
	/* name of the peer's protocol offence; NULL if there was none */
	const char *offence;
	uint64_t in_puts, in_signals, in_bytes;
	uint64_t queued_bytes;
	/* address of the peer as "address:port", or "" if it is not known */
	char text[64];
};

/* @coll is the plugin's collComm. */
struct nb_gin_extension {
	/*
	 * Returns the registration number of a memory handle. The handle of
	 * deregistered memory is refused by the plugin's functions.
	 */
	uint32_t (*region)(void *mhandle);
	/* Returns the bytes that wait for a peer's socket. */
	uint64_t (*queued)(void *coll, uint32_t rank);
	/* Reports the state of a connection. Any thread may call it. */
	void (*link)(void *coll, uint32_t rank, struct nb_gin_link *link);
	/*
	 * Call @arrived after each applied signal, in the thread that calls
	 * progress or post.
	 */
	void (*watch)(void *coll, nb_gin_arrived *arrived, void *arg);
	/* Returns how many offences of this kind the process has counted. */
	uint64_t (*offences)(enum nb_gin_offence what);
};

#endif
