# SPDX-License-Identifier: MIT
# expect: reject stack_bounds 6
stdw [%r10-8], 5
mov %r1, %r10
add %r1, -8 # near: add %r1, -16
call local f
ldxdw %r0, [%r10-8]
exit
f:
ldxdw %r2, [%r1+8]
mov %r0, 0
exit
