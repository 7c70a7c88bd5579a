# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
call local f
jeq %r0, 0, out
stdw [%r0], 1
mov %r1, %r0
mov %r2, 0
call 132
out:
mov %r0, 0
exit
f:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
exit
