# SPDX-License-Identifier: MIT
# expect: reject stack_partial 5
stxdw [%r10-8], %r1
# near: stdw [%r10-8], 0
ldxdw %r3, [%r1+8]
and %r3, 7
mov %r2, %r10
add %r2, %r3
ldxb %r0, [%r2-8]
exit
