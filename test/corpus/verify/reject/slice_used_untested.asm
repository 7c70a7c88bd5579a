# SPDX-License-Identifier: MIT
# expect: reject nullable 12
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 8
call 203
# near: jeq %r0, 0, no
stdw [%r0], 1
# near: no:
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
