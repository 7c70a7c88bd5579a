# SPDX-License-Identifier: MIT
# expect: reject tail_call 12
# opts: held
mov %r7, %r1
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r6, %r0
mov %r1, %r7
lddw map %r2, @jumps
mov %r3, 0
call 12 # near:
mov %r1, %r6
mov %r2, 0
call 132
out:
mov %r0, 0
exit
