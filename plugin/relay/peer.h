// SPDX-License-Identifier: MIT
#ifndef NB_RELAY_PEER_H
#define NB_RELAY_PEER_H

#include <stdbool.h>

#include "core/base/err.h"

struct MHD_Connection;

/*
 * nb_relay_peer - find out what the client of a connection may do
 * @tls: the server requires certificates
 * @control: set to true if the client may control; every accepted client may
 *   observe
 *
 * Returns 0, or NB_E_PERM if there is no certificate, it has expired, another
 * authority signed it, or it names no role.
 */
int nb_relay_peer(struct MHD_Connection *c, bool tls, bool *control, struct nb_err *err);

#endif
