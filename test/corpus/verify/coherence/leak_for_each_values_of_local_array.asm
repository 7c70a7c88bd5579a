# SPDX-License-Identifier: MIT
# expect: reject local_output 11
# flow: callback
mov %r6, %r1
stdw [%r10-8], 0
lddw map %r1, @counts # near: lddw map %r1, @limits
for_each_on cb, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
cb:
ldxdw %r1, [%r3]
ldxdw %r2, [%r4]
add %r2, %r1
stxdw [%r4], %r2
mov %r0, 0
exit
