# SPDX-License-Identifier: MIT
# Eight bytes, but which is not known.
# expect: reject stack_partial 7
ldxw %r2, [%r1+28]
and %r2, 8 # near: and %r2, 0
stxdw [%r10-16], %r1
stdw [%r10-8], 0
mov %r3, %r10
add %r3, -16
add %r3, %r2
ldxdw %r0, [%r3]
mov %r0, 0
exit
