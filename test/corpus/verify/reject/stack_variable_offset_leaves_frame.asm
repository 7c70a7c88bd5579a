# SPDX-License-Identifier: MIT
# expect: reject stack_bounds 5
ldxdw %r1, [%r1+8]
and %r1, 15 # near: and %r1, 7
stdw [%r10-8], 0
mov %r2, %r10
add %r2, %r1
ldxb %r0, [%r2-8]
exit
