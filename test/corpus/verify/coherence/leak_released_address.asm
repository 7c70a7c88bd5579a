# SPDX-License-Identifier: MIT
# expect: reject local_output 12
# flow: copy
mov %r6, %r1
mov %r7, 0
reserve 16
jeq %r0, 0, out
mov %r7, %r0 # near: mov %r0, %r0
submit %r0
out:
stxw [%r6+76], %r7
mov %r0, 0
exit
