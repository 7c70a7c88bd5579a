# SPDX-License-Identifier: MIT
# expect: reject map_write_only 7
find @sink # near: find @counts
ldxdw %r1, [%r0]
