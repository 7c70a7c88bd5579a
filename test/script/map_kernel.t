#!/bin/sh
# SPDX-License-Identifier: MIT
# Random operations give the same answers and contents as the kernel's maps.
exec timeout 120 "$B/test/map/map_kernel" 6000
