# SPDX-License-Identifier: MIT
# expect: accept
find @counts
mov %r6, %r0
find @limits
ldxdw %r1, [%r0]
stxdw [%r6], %r1
