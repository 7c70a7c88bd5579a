# SPDX-License-Identifier: MIT
# expect: reject map_read_only 7
find @config # near: find @counts
stdw [%r0], 1
