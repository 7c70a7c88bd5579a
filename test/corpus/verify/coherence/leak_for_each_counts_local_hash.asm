# SPDX-License-Identifier: MIT
# How many elements a local map has is local data.
# expect: reject local_output 11
# flow: callback
mov %r6, %r1
stdw [%r10-8], 0
lddw map %r1, @seen # near: lddw map %r1, @counts
for_each_on cb, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
cb:
ldxdw %r3, [%r4]
add %r3, 1
stxdw [%r4], %r3
mov %r0, 0
exit
