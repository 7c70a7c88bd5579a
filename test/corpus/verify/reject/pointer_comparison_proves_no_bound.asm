# SPDX-License-Identifier: MIT
# expect: reject map_bounds 11
find @counts
mov %r6, %r0
add %r0, 60 # near: add %r0, 56
jgt %r0, %r6, use
ja out
use:
ldxdw %r2, [%r0]
