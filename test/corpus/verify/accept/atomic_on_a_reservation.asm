# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
stdw [%r0+8], 0
mov %r2, 1
lock add [%r0+8], %r2
mov %r1, %r0
mov %r2, 0
call 132
out:
mov %r0, 0
exit
