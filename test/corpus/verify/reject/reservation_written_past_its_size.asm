# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 6
# opts: held
lddw map %r1, @ring
mov %r2, 16 # near: mov %r2, 20
mov %r3, 0
call 131
jeq %r0, 0, out
stdw [%r0+12], 1
mov %r1, %r0
mov %r2, 0
call 132
out:
mov %r0, 0
exit
