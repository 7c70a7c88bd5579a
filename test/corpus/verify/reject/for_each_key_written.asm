# SPDX-License-Identifier: MIT
# golden
# expect: reject read_only 9
lddw map %r1, @seen
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 164
mov %r0, 0
exit
cb:
stdw [%r2], 1 # near: stdw [%r3], 1
ldxdw %r2, [%r3+8]
stxdw [%r3], %r2
mov %r0, 0
exit
