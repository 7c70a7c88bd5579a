# SPDX-License-Identifier: MIT
# a 32-bit move zero-extends: the jump is not taken
# expect: reject map_bounds 9
find @counts
mov32 %r1, -1
jeq %r1, -1, skip
ldxb %r2, [%r0+64] # near: ldxb %r2, [%r0+63]
skip:
