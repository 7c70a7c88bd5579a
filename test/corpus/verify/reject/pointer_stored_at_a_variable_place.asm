# SPDX-License-Identifier: MIT
# pointer stored at a variable place
# expect: reject pointer_store 7
ldxw %r2, [%r1+28]
and %r2, 8 # near: and %r2, 0
stdw [%r10-16], 0
stdw [%r10-8], 0
mov %r3, %r10
add %r3, -16
add %r3, %r2
stxdw [%r3], %r1
mov %r0, 0
exit
