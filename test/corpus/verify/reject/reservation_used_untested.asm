# SPDX-License-Identifier: MIT
# expect: reject nullable 5
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
# near: jeq %r0, 0, out
stdw [%r0], 1
mov %r1, %r0
mov %r2, 0
call 132
# near: out:
mov %r0, 0
exit
