# SPDX-License-Identifier: MIT
# 64 bytes copied count as four instructions.
# expect: accept iteration 1 first 23 iter_steps 0
stw [%r10-4], 1
mov %r1, 0
repeat 8 72 -8
stxdw [%r10-$], %r1
end
lddw map %r1, @counts
mov %r2, %r10
add %r2, -4
mov %r3, %r10
add %r3, -72
mov %r4, 0
call 2
mov %r0, 0
exit
