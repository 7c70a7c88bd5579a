// SPDX-License-Identifier: MIT
#ifndef NB_RELAY_PEER_H
#define NB_RELAY_PEER_H

#include <stdbool.h>

#include "core/base/err.h"

struct MHD_Connection;

/*
 * nb_relay_peer - what may the client of a connection do?
 * @tls:     the server requires certificates
 * @control: set to whether it may control; all who pass may observe
 *
 * 0, or NB_E_PERM: no certificate, one that is expired or of another
 * authority, or one without a role.
 */
int nb_relay_peer(struct MHD_Connection *c, bool tls, bool *control,
		  struct nb_err *err);

#endif
