# SPDX-License-Identifier: MIT
# The key of an array lies in the frame of the helper, which is gone.
# expect: reject use_after_release 13
stdw [%r10-16], 0
mov %r1, %r10
add %r1, -16
stxdw [%r10-8], %r1
lddw map %r1, @counts
for_each_on cb, -8 # near: for_each_on cb, -16
ldxdw %r1, [%r10-8]
ldxw %r0, [%r1]
exit
cb:
stxdw [%r4], %r2
mov %r0, 0
exit
