# SPDX-License-Identifier: MIT
# In which order the elements come differs, also of a coherent hash.
# expect: reject local_output 11
# flow: callback
mov %r6, %r1
stdw [%r10-8], 0
lddw map %r1, @chosen # near: lddw map %r1, @limits
for_each_on cb, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
cb:
ldxdw %r3, [%r2] # near: ldxw %r3, [%r2]
stxdw [%r4], %r3
mov %r0, 0
exit
