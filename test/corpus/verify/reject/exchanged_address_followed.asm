# SPDX-License-Identifier: MIT
# golden
# expect: reject not_pointer 3
stxdw [%r10-8], %r1
mov %r2, 8
lock xchg [%r10-8], %r2 # near: ldxdw %r2, [%r10-8]
ldxw %r0, [%r2+28]
mov %r0, 0
exit
