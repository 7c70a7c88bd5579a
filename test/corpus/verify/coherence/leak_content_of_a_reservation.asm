# SPDX-License-Identifier: MIT
# expect: reject local_output 8
# flow: map value
# opts: held
mov %r6, %r1
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
ldxw %r2, [%r0]
stxw [%r6+76], %r2 # near: stxw [%r10-8], %r2
mov %r1, %r0
mov %r2, 0
call 132
out:
mov %r0, 0
exit
