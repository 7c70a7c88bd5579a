# SPDX-License-Identifier: MIT
# expect: reject map_kind 5
stw [%r10-4], 0
lddw map %r1, @loose # near: lddw map %r1, @counts
mov %r2, %r10
add %r2, -4
call 1
mov %r0, 0
exit
