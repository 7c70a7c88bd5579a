# SPDX-License-Identifier: MIT
# a 32-bit move zero-extends: the jump is not taken
# expect: reject map_bounds 9
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov32 %r1, -1
jeq %r1, -1, skip
ldxb %r2, [%r0+64] # near: ldxb %r2, [%r0+63]
skip:
out:
mov %r0, 0
exit
