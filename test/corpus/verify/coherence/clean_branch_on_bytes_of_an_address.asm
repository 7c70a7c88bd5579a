# SPDX-License-Identifier: MIT
# expect: accept
# A pointer overwritten in part leaves bytes that no rank shares.
stxdw [%r10-8], %r1
stb [%r10-8], 1
ldxw %r3, [%r10-4]
jeq %r3, 0, +1
mov %r4, 1
mov %r0, 0
exit
