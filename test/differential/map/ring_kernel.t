#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Random sequences of ring buffer calls, each a program: the same answers,
# positions and records as the kernel's ring, by both engines.
export SEED=${SEED:-1}
exec timeout "${LIMIT:-550}" "$B/test/differential/map/ring_kernel" "${SEQUENCES:-2000}"
