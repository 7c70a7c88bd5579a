# SPDX-License-Identifier: MIT
# expect: reject nullable 11
# The key is in bounds on the way that is walked first.
ldxw %r2, [%r1+24]
stw [%r10-4], 9 # near: stw [%r10-4], 3
jeq %r2, 0, join
stw [%r10-4], 1
join:
look @counts
mov %r1, 1
mov %r1, 1
ldxdw %r1, [%r0]
mov %r0, 0
exit
