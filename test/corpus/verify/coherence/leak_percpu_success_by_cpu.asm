# SPDX-License-Identifier: MIT
# A host without CPU 40 finds nothing.
# expect: reject local_output 11
# flow: look-up
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @percpu
mov %r3, 40
call 195 # near: call 1
mov %r7, 4
jeq %r0, 0, none
mov %r7, 5
none:
stxw [%r6+76], %r7
mov %r0, 0
exit
