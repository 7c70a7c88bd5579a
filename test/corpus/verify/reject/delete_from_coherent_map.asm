# SPDX-License-Identifier: MIT
# expect: reject map_coherent 5
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @chosen # near: lddw map %r1, @counts
call 3
mov %r0, 0
exit
