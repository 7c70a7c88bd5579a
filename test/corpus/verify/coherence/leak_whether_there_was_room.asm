# SPDX-License-Identifier: MIT
# expect: reject local_control 10
# flow: branch
# opts: held
mov %r6, %r1
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r1, %r0
mov %r2, 0
call 132
stw [%r6+76], 4 # near: mov %r7, 4
out:
mov %r0, 0
exit
