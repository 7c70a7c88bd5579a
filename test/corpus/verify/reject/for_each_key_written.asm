# SPDX-License-Identifier: MIT
# golden
# expect: reject read_only 9
lddw map %r1, @seen
for_each cb
mov %r0, 0
exit
cb:
stdw [%r2], 1 # near: stdw [%r3], 1
ldxdw %r2, [%r3+8]
stxdw [%r3], %r2
mov %r0, 0
exit
