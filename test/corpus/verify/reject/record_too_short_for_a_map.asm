# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 14
# opts: held
stw [%r10-4], 0
lddw map %r1, @ring
mov %r2, 8 # near: mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r6, %r0
lddw map %r1, @sink
mov %r2, %r10
add %r2, -4
mov %r3, %r6
mov %r4, 0
call 2
mov %r1, %r6
mov %r2, 0
call 132
out:
mov %r0, 0
exit
