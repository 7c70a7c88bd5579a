#!/bin/sh
# SPDX-License-Identifier: MIT
# Random operations give the same answers and contents as the kernel's maps:
# of each shape one long sequence and many short ones.
export SEED=${SEED:-1}
exec timeout "${LIMIT:-120}" "$B/test/map/map_kernel" 6000 "${SEQUENCES:-1000}"
