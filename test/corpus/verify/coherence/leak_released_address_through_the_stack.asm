# SPDX-License-Identifier: MIT
# expect: reject local_output 13
# flow: stack
# opts: held
mov %r6, %r1
stdw [%r10-8], 0
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
stxdw [%r10-8], %r0 # near: stxdw [%r10-16], %r0
mov %r1, %r0
mov %r2, 0
call 132
out:
ldxw %r7, [%r10-8]
stxw [%r6+76], %r7
mov %r0, 0
exit
