# SPDX-License-Identifier: MIT
# expect: reject map_coherent 7
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @limits # near: lddw map %r1, @counts
call 1
jeq %r0, 0, out
stdw [%r0], 1
out:
mov %r0, 0
exit
