#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Random operations give the same answers and contents as the kernel's maps:
# of each shape of each type a long sequence and many short ones, with batches.
export SEED=${SEED:-1}
exec timeout "${LIMIT:-550}" "$B/test/differential/map/map_kernel" 3000 "${SEQUENCES:-1000}"
