# SPDX-License-Identifier: MIT
# expect: reject pointer_range 4
ldxdw %r1, [%r1+8]
# near: and %r1, 7
stdw [%r10-8], 0
stdw [%r10-16], 0 # near:
mov %r2, %r10
add %r2, %r1
ldxb %r0, [%r2-8]
exit
