# SPDX-License-Identifier: MIT
# expect: reject local_output 12
# flow: copy
# opts: held
mov %r6, %r1
mov %r7, 0
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r7, %r0 # near: mov %r0, %r0
mov %r1, %r0
mov %r2, 0
call 132
out:
stxw [%r6+76], %r7
mov %r0, 0
exit
