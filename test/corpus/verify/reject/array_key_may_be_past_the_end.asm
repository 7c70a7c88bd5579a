# SPDX-License-Identifier: MIT
# expect: reject nullable 9
# All elements of an array exist, so a key within bounds needs no test.
ldxw %r2, [%r1+24]
and %r2, 7 # near: and %r2, 3
stxw [%r10-4], %r2
look @counts
mov %r1, 1
ldxdw %r1, [%r0]
mov %r0, 0
exit
