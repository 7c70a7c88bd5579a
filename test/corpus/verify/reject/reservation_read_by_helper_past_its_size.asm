# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 12
# opts: held
lddw map %r1, @ring
mov %r2, 16 # near: mov %r2, 17
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r6, %r0
lddw map %r1, @ring
mov %r2, %r6
mov %r3, 17
mov %r4, 0
call 130
mov %r1, %r6
mov %r2, 0
call 132
out:
mov %r0, 0
exit
