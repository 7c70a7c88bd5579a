# SPDX-License-Identifier: MIT
# expect: reject map_kind 5
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @ring # near: lddw map %r1, @counts
call 1
mov %r0, 0
exit
