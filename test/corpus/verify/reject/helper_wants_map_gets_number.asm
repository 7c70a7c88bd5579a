# SPDX-License-Identifier: MIT
# golden
# expect: reject arg_map 4
mov %r1, 0 # near: lddw map %r1, @counts
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
call 1
mov %r0, 0
exit
