# SPDX-License-Identifier: MIT
# golden
# expect: reject memory_bounds 9
lddw map %r1, @seen
for_each cb
mov %r0, 0
exit
cb:
ldxdw %r1, [%r2+8] # near: ldxdw %r1, [%r2+0]
ldxdw %r2, [%r3+8]
stxdw [%r3], %r2
mov %r0, 0
exit
