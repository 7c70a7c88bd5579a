# SPDX-License-Identifier: MIT
# expect: reject stack_bounds 4
stdw [%r10-8], 0x6869
mov %r1, %r10
add %r1, -8
mov %r2, 9 # near: mov %r2, 8
call 6
mov %r0, 0
exit
