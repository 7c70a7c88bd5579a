# SPDX-License-Identifier: MIT
# expect: reject local_output 12
# flow: map value
# opts: held
mov %r6, %r1
mov %r8, 0
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
ldxw %r8, [%r0] # near: ldxw %r1, [%r0]
mov %r1, %r0
mov %r2, 0
call 132
out:
stxw [%r6+76], %r8
mov %r0, 0
exit
